-- What the threads of a recording were blocked by.
--
-- recording text: The recording.
-- cause text: Why.
-- total bigint (ns): How long together.
-- waits bigint: How often.
-- mean bigint (ns): How long on average.
-- longest bigint (ns): How long at most.
-- threads bigint: How many threads.
-- share double: Part of all blocked time of the recording, 0 to 1.
WITH sums AS (
  SELECT
    recording,
    cause,
    sum(total) AS total,
    sum(count) AS waits,
    max(longest) AS longest,
    count(DISTINCT thread) AS threads
  FROM thread_states
  WHERE cause LIKE 'blocked.%'
  GROUP BY recording, cause
)
SELECT
  recording,
  cause,
  total,
  waits,
  total / waits AS mean,
  longest,
  threads,
  CAST(total AS DOUBLE) / sum(total) OVER (PARTITION BY recording) AS share
FROM sums
