-- name: topics_of_roles
-- row: RoleTopic
-- The topics that roles' claims go to, or one of them, and the accounts whose messages count there.
select topic_id, workspace_id, role_id, accounts from roles
where cast(:topic_id as text) is null or topic_id = :topic_id order by topic_id;

-- name: topics_of_role_id
-- row: RoleTopic
-- The topics of roles of this id, in one workspace or in any; two are enough to say that it is ambiguous.
select topic_id, workspace_id, role_id, accounts from roles
where role_id = :role_id and (cast(:workspace_id as text) is null or workspace_id = :workspace_id)
order by workspace_id limit 2;

-- name: claims_known
-- row: Text
-- Those of some claim ids (a JSON array) that the store has.
select c.claim_id as value from json_array_elements_text(cast(:claim_ids as json)) j (value)
  join claims c on c.claim_id = j.value;
