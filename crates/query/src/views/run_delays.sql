-- How long a thread was ready before it got a CPU.
--
-- recording text: The recording.
-- thread uint32 (row of threads): The thread.
-- thread_name text: Its name.
-- tid uint32 (kernel tid): Its kernel number.
-- process_name text: Its process's name.
-- count bigint: How often.
-- total bigint (ns): How long together.
-- median double (ns): Half of the delays are shorter.
-- p95 double (ns): 95 of 100 delays are shorter.
-- longest bigint (ns): The longest delay.
WITH delays AS (
  SELECT
    recording,
    thread,
    count(*) AS count,
    sum(duration) AS total,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY CAST(duration AS DOUBLE)) AS median,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY CAST(duration AS DOUBLE)) AS p95,
    max(duration) AS longest
  FROM intervals
  WHERE cause LIKE 'runnable%'
  GROUP BY recording, thread
)
SELECT
  d.recording,
  d.thread,
  t.thread_name,
  t.tid,
  t.process_name,
  d.count,
  d.total,
  d.median,
  d.p95,
  d.longest
FROM delays d
JOIN thread_names t ON t.recording = d.recording AND t.thread = d.thread
