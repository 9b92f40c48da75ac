-- How many recordings each group has, by their metric.
--
-- metric word: What their values count.
-- group_name text: The group.
-- recordings bigint: Recordings.
WITH named AS (
  SELECT DISTINCT s.metric, :group AS group_name, s.day, s.host, s.recording FROM fleet_samples s
)
SELECT metric, group_name, count(*) AS recordings
FROM named
GROUP BY metric, group_name
ORDER BY metric, group_name
