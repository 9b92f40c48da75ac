-- A thread with its process: what other views are joined with.
--
-- recording text: The recording.
-- thread uint32 (row of threads): The thread.
-- thread_name text: Its name.
-- tid uint32 (kernel tid): Its kernel number.
-- process uint32 (row of processes): Its process.
-- process_name text: The process's name.
-- pid uint32 (kernel pid): The process's kernel number.
-- recorded boolean: True when its time is recorded; false for a thread known only as a waker.
-- start bigint (ns since the recording's start): When it began.
-- until bigint (ns since the recording's start): Its exit, or the recording's end.
SELECT
  t.recording,
  t.id AS thread,
  t.name AS thread_name,
  t.tid,
  t.process,
  p.name AS process_name,
  p.pid,
  t.recorded,
  t.start,
  coalesce(t."end", r.wall) AS until
FROM threads t
JOIN processes p ON p.recording = t.recording AND p.id = t.process
JOIN recordings r ON r.recording = t.recording
