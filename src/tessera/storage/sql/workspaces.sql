-- name: workspace_named
-- row: WorkspaceRow
-- remembered until: define_workspace
-- One workspace.
select * from workspaces where workspace_id = :workspace_id;

-- name: workspaces_page
-- row: WorkspaceRow
-- A page of the workspaces, by id; of one alone where it is named, null means all.
select * from workspaces
where workspace_id > :after and (cast(:only as text) is null or workspace_id = :only)
order by workspace_id limit :limit;

-- name: define_workspace
-- Make a workspace, or give it another name; its secret stays what it was.
insert into workspaces (workspace_id, name, secret, created_at) values (:workspace_id, :name, :secret, :now)
on conflict (workspace_id) do update set name = excluded.name;

-- name: assign_queue
-- A queue belongs to a workspace from now on.
update queues set workspace_id = :workspace_id where queue = :queue and workspace_id is null;

-- name: has_tasks
-- row: Scalar
-- Whether a queue has ever had a task.
select count(*) as value from (select 1 from lanes where queue = :queue limit 1) one;

-- name: queues_of_workspace
-- row: Text
-- A workspace's queues, by name.
select name as value from queues where workspace_id = :workspace_id order by name;

-- name: role_named
-- row: RoleRow
-- remembered until: define_role
-- One role of a workspace.
select * from roles where workspace_id = :workspace_id and role_id = :role_id;

-- name: roles_of
-- row: RoleRow
-- A workspace's roles, by id.
select * from roles where workspace_id = :workspace_id order by role_id;

-- name: role_of_topic
-- row: RoleRow
-- The role whose claims go to a topic.
select * from roles where topic_id = :topic_id;

-- name: define_role
-- Make a role or change it; its topic stays what it was.
insert into roles (workspace_id, role_id, name, topic_id, lease_seconds, accounts)
values (:workspace_id, :role_id, :name, :topic_id, :lease_seconds, :accounts)
on conflict (workspace_id, role_id) do update set
  name = excluded.name, lease_seconds = excluded.lease_seconds, accounts = excluded.accounts;

-- name: agent_named
-- row: AgentRow
-- remembered until: define_agent
-- One agent of a workspace.
select * from agents where workspace_id = :workspace_id and agent_id = :agent_id;

-- name: agents_of
-- row: AgentRow
-- A workspace's agents, by id.
select * from agents where workspace_id = :workspace_id order by agent_id;

-- name: define_agent
-- Make an agent or change it.
insert into agents (workspace_id, agent_id, role_ids, capabilities, active)
values (:workspace_id, :agent_id, :role_ids, :capabilities, :active)
on conflict (workspace_id, agent_id) do update set
  role_ids = excluded.role_ids, capabilities = excluded.capabilities, active = excluded.active;

-- name: requirement_like
-- row: RequirementRow
-- remembered until: add_requirement
-- What tasks of a queue ask for this role and set of capabilities, if any has.
select * from requirements where queue = :queue and role_id = :role_id and capabilities = :capabilities;

-- name: requirement_numbered
-- row: RequirementRow
-- remembered until: add_requirement
-- The same by the number that tasks carry.
select * from requirements where requirement = :requirement;

-- name: next_requirement
-- row: Scalar
-- The number that a new requirement gets.
select coalesce(max(requirement), 0) + 1 as value from requirements;

-- name: add_requirement
-- A role and set of capabilities that tasks of a queue ask for the first time.
insert into requirements (requirement, queue, role_id, capabilities)
values (:requirement, :queue, :role_id, :capabilities);

-- name: requirements_of_queue
-- row: RequirementRow
-- remembered until: add_requirement
-- What the tasks of a queue ask for, or have.
select * from requirements where queue = :queue order by requirement;
