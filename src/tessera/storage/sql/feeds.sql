-- name: feed_named
-- row: FeedRow
-- One feed.
select feed, name, head, updated_at from feeds where name = :name;

-- name: feeds_page
-- row: FeedRow
-- A page of the feeds, by name.
select feed, name, head, updated_at from feeds where name > :after order by name limit :limit;

-- name: feed_items
-- row: FeedItemRow
-- The items of a feed after a cursor.
select cursor, payload, published_at from feed_items where feed = :feed and cursor > :after
order by cursor limit :limit;

-- name: feed_items_sizes
-- row: Scalar
-- How many bytes each of them has, without reading it.
select octet_length(payload) as value from feed_items where feed = :feed and cursor > :after
order by cursor limit :limit;

-- name: add_feed
-- A feed with its first item to come.
insert into feeds (name, head, updated_at) values (:name, :head, :now);

-- name: move_feed
-- A feed's next cursor, if nobody was quicker.
update feeds set head = head + 1, updated_at = :now where feed = :feed and head = :head;

-- name: add_feed_item
-- One item of a feed, under its cursor.
insert into feed_items (feed, cursor, payload, published_at)
values ((select feed from feeds where name = :name), :cursor, :payload, :now);
