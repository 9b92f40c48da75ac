-- Rows after each step from all interactions to those of the place.
--
-- interactions bigint: All interactions.
-- timed bigint: Those with a start.
-- placed bigint: Those whose own place or address is known.
-- matched bigint: Those at the place.
-- matched_timed bigint: Those at the place with a start.
-- matched_robots bigint: Those at the place, with a start, of robots.
SELECT
  count(*) AS interactions,
  count(i.start_utc) AS timed,
  count(i.:place_key) AS placed,
  sum(CASE WHEN i.:place_key IN (:chosen) THEN 1 ELSE 0 END) AS matched,
  sum(CASE WHEN i.start_utc IS NOT NULL AND i.:place_key IN (:chosen) THEN 1 ELSE 0 END)
    AS matched_timed,
  sum(CASE
    WHEN i.start_utc IS NOT NULL AND i.:place_key IN (:chosen) AND i.ua_id IN (:robots) THEN 1
    ELSE 0
  END) AS matched_robots
FROM interactions i
