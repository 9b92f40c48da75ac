-- Sessions of each day or hour by shard, whoever made them.
--
-- bucket bigint: As in visit_rows.
-- shard bigint: The shard.
-- sessions bigint: Interactions.
-- robots bigint: Those of robots.
SELECT bucket, shard, count(*) AS sessions, sum(robot) AS robots
FROM visit_rows
GROUP BY bucket, shard
