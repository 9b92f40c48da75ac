-- Time of a recorded thread by cause: the same sums as the threads of `culprit report`.
--
-- recording text: The recording.
-- thread uint32 (row of threads): The thread.
-- thread_name text: Its name.
-- tid uint32 (kernel tid): Its kernel number.
-- process uint32 (row of processes): Its process.
-- process_name text: The process's name.
-- pid uint32 (kernel pid): The process's kernel number.
-- cause text: Why the time passed.
-- total bigint (ns): How long together.
-- count bigint: How many intervals.
-- longest bigint (ns): The longest of them.
WITH sums AS (
  SELECT
    i.recording,
    i.thread,
    i.cause,
    sum(least(i.start + i.duration, r.wall) - i.start) AS total,
    count(*) AS count,
    max(least(i.start + i.duration, r.wall) - i.start) AS longest
  FROM intervals i
  JOIN recordings r ON r.recording = i.recording
  WHERE i.start < r.wall AND i.duration > 0
  GROUP BY i.recording, i.thread, i.cause
)
SELECT
  s.recording,
  s.thread,
  t.thread_name,
  t.tid,
  t.process,
  t.process_name,
  t.pid,
  s.cause,
  s.total,
  s.count,
  s.longest
FROM thread_names t
JOIN sums s ON s.recording = t.recording AND s.thread = t.thread
WHERE t.recorded
