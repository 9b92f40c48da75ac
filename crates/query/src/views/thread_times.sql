-- Time of a recorded thread: on a CPU, ready and blocked side by side.
--
-- recording text: The recording.
-- thread uint32 (row of threads): The thread.
-- thread_name text: Its name.
-- tid uint32 (kernel tid): Its kernel number.
-- process_name text: The process's name.
-- pid uint32 (kernel pid): The process's kernel number.
-- wall bigint (ns): Its life within the recording.
-- cpu bigint (ns): On a CPU.
-- runnable bigint (ns): Ready, without a CPU.
-- blocked bigint (ns): Not ready.
-- waits bigint: How often it was blocked.
SELECT
  recording,
  thread,
  thread_name,
  tid,
  process_name,
  pid,
  sum(total) AS wall,
  sum(CASE WHEN cause LIKE 'cpu.%' THEN total ELSE 0 END) AS cpu,
  sum(CASE WHEN cause LIKE 'runnable%' THEN total ELSE 0 END) AS runnable,
  sum(CASE WHEN cause LIKE 'blocked.%' THEN total ELSE 0 END) AS blocked,
  sum(CASE WHEN cause LIKE 'blocked.%' THEN count ELSE 0 END) AS waits
FROM thread_states
GROUP BY recording, thread, thread_name, tid, process_name, pid
