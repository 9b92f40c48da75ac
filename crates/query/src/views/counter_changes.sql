-- A counter's reading beside the one before it.
--
-- recording text: The recording.
-- name text: What is counted.
-- process uint32 (row of processes): Whose; none for the recorded cgroup or the machine.
-- time bigint (ns since the recording's start): When it was read.
-- value bigint: What was read.
-- change bigint: How much more than before; negative for less, none for the first reading.
-- elapsed bigint (ns): Time since the reading before.
-- rate double (per second): Change a second.
WITH readings AS (
  SELECT
    recording,
    name,
    process,
    time,
    value,
    value - lag(value) OVER (PARTITION BY recording, name, process ORDER BY time) AS change,
    time - lag(time) OVER (PARTITION BY recording, name, process ORDER BY time) AS elapsed
  FROM counters
)
SELECT
  recording,
  name,
  process,
  time,
  value,
  change,
  elapsed,
  change * 1e9 / nullif(elapsed, 0) AS rate
FROM readings
