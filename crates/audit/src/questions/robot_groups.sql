-- Interactions of each group of robots' candidates.
--
-- first_key bigint: First part of the group's key: a user agent, contact or address.
-- second_key bigint: Second part: a network's hash, or 0.
-- interactions bigint: Interactions.
-- single bigint: Interactions with at most one page.
-- max_pages bigint: Pages of the longest interaction.
-- converted bigint: Interactions with a goal or an outcome.
-- hurried bigint: Interactions with several pages and less than a second for each.
-- weekend bigint: Interactions on Saturdays and Sundays (UTC).
-- timed bigint: Interactions with a start.
-- first_ms bigint (ms): Start of the first one since 1970.
-- last_ms bigint (ms): Start of the last one.
-- least_ua bigint: The smallest key of their user agents.
-- greatest_ua bigint: The greatest key: the same when all have one user agent.
WITH grouped AS (
  SELECT
    :first_key AS first_key,
    :second_key AS second_key,
    CAST(i.pages AS BIGINT) AS pages,
    i.goals,
    i.outcomes,
    CAST(i.duration_ms AS BIGINT) AS duration_ms,
    i.start_utc,
    i.ua_id,
    -- 1970-01-01 was a Thursday: with 4 added, Sundays are 0 and Saturdays 6.
    (CAST(floor(i.start_utc / 86400000e0) AS BIGINT) + 4) % 7 AS weekday
  FROM interactions i
  :joined
)
SELECT
  first_key,
  second_key,
  count(*) AS interactions,
  sum(CASE WHEN pages <= 1 THEN 1 ELSE 0 END) AS single,
  max(pages) AS max_pages,
  sum(CASE WHEN goals > 0 OR outcomes > 0 THEN 1 ELSE 0 END) AS converted,
  sum(CASE WHEN pages > 1 AND duration_ms < 1000 * (pages - 1) THEN 1 ELSE 0 END) AS hurried,
  sum(CASE WHEN weekday = 0 OR weekday = 6 THEN 1 ELSE 0 END) AS weekend,
  count(start_utc) AS timed,
  min(start_utc) AS first_ms,
  max(start_utc) AS last_ms,
  min(ua_id) AS least_ua,
  max(ua_id) AS greatest_ua
FROM grouped
GROUP BY first_key, second_key
