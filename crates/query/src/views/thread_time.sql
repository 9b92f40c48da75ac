-- A part of one thread's life with names: the table `intervals` as people read it.
--
-- recording text: The recording.
-- start bigint (ns since the recording's start): From when.
-- until bigint (ns since the recording's start): Until when.
-- duration bigint (ns): How long.
-- process_name text: The process's name.
-- pid uint32 (kernel pid): Its kernel number.
-- thread uint32 (row of threads): The thread.
-- thread_name text: The thread's name.
-- tid uint32 (kernel tid): Its kernel number.
-- cause text: Why it passed.
-- stack uint32 (row of stacks): Where the thread was; none if that was lost.
-- name text: The stack's leaf, `module!function`.
-- cpu uint32: The CPU that it ran on or left.
-- waker_name text: The thread that ended the wait.
-- waker_tid uint32 (kernel tid): Its kernel number.
-- woken_by text: What kind of event ended the wait.
SELECT
  i.recording,
  i.start,
  i.start + i.duration AS until,
  i.duration,
  t.process_name,
  t.pid,
  i.thread,
  t.thread_name,
  t.tid,
  i.cause,
  i.stack,
  l.name,
  i.cpu,
  w.name AS waker_name,
  w.tid AS waker_tid,
  i.woken_by
FROM intervals i
JOIN thread_names t ON t.recording = i.recording AND t.thread = i.thread
LEFT JOIN leaf_names l ON l.recording = i.recording AND l.stack = i.stack
LEFT JOIN threads w ON w.recording = i.recording AND w.id = i.waker
