-- First and last start of a visit, and the shards.
--
-- interactions bigint: All interactions.
-- timed bigint: Interactions with a start.
-- first_ms bigint (ms): First start since 1970.
-- last_ms bigint (ms): Last start.
-- shards bigint: Distinct shards.
-- greatest_shard bigint: The greatest number of a shard.
WITH shards AS (
  SELECT
    shard,
    count(*) AS interactions,
    count(start_utc) AS timed,
    min(start_utc) AS first_ms,
    max(start_utc) AS last_ms
  FROM interactions
  GROUP BY shard
)
SELECT
  sum(interactions) AS interactions,
  sum(timed) AS timed,
  min(first_ms) AS first_ms,
  max(last_ms) AS last_ms,
  count(*) AS shards,
  max(shard) AS greatest_shard
FROM shards
