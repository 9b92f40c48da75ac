-- Waits that threads ended for other threads: who was waited for.
--
-- recording text: The recording.
-- thread uint32 (row of threads): The thread that waited.
-- thread_name text: Its name.
-- tid uint32 (kernel tid): Its kernel number.
-- cause text: What for.
-- waker uint32 (row of threads): The thread that ended the waits.
-- waker_name text: Its name.
-- waker_tid uint32 (kernel tid): Its kernel number.
-- total bigint (ns): How long together.
-- waits bigint: How often.
-- longest bigint (ns): How long at most.
WITH sums AS (
  SELECT
    recording,
    thread,
    cause,
    waker,
    sum(duration) AS total,
    count(*) AS waits,
    max(duration) AS longest
  FROM intervals
  WHERE waker IS NOT NULL
  GROUP BY recording, thread, cause, waker
)
SELECT
  s.recording,
  s.thread,
  t.thread_name,
  t.tid,
  s.cause,
  s.waker,
  w.thread_name AS waker_name,
  w.tid AS waker_tid,
  s.total,
  s.waits,
  s.longest
FROM sums s
JOIN thread_names t ON t.recording = s.recording AND t.thread = s.thread
JOIN thread_names w ON w.recording = s.recording AND w.thread = s.waker
