-- What signals of robots need of each user agent, from the store's sums: without labels.
--
-- first_key bigint: User agent.
-- interactions bigint: As in robot_groups.
-- single bigint: As in robot_groups.
-- max_pages bigint: As in robot_groups.
-- converted bigint: As in robot_groups.
-- hurried bigint: As in robot_groups.
-- weekend bigint: As in robot_groups.
-- timed bigint: As in robot_groups.
-- first_ms bigint (ms): As in robot_groups.
-- last_ms bigint (ms): As in robot_groups.
-- contacts bigint: As in robot_contacts.
-- returning_contacts bigint: As in robot_contacts.
-- busiest_contact bigint: As in robot_contacts.
-- known_contacts bigint: As in robot_contacts.
-- stored_robot bigint: As in robot_contacts.
-- classified bigint: As in robot_contacts.
-- addresses bigint: As in robot_addresses.
-- gaps bigint: As in robot_gaps.
-- gap_sum double (s): As in robot_gaps.
-- gap_squares double (s2): As in robot_gaps.
-- c_ln_c double: As in robot_hours.
WITH hours AS (
  SELECT ua_id, sum(visits * ln(visits)) AS c_ln_c
  FROM (
    SELECT
      coalesce(CAST(ua_id AS BIGINT), -1) AS ua_id,
      CAST(interactions AS DOUBLE) AS visits
    FROM rollup_agent_hours
  ) h
  GROUP BY ua_id
)
SELECT
  a.ua_id AS first_key,
  a.interactions,
  a.single,
  a.max_pages,
  a.converted,
  a.hurried,
  a.weekend,
  a.timed,
  a.first_utc AS first_ms,
  a.last_utc AS last_ms,
  a.contacts,
  a.returning_contacts,
  a.busiest_contact,
  a.known_contacts,
  a.stored_robot,
  a.classified,
  a.addresses,
  a.gaps,
  a.gap_ms / 1e3 AS gap_sum,
  (a.gap_squares_high * 1e15 + a.gap_squares_low) / 1e6 AS gap_squares,
  h.c_ln_c
FROM rollup_agents a
LEFT JOIN hours h ON h.ua_id = coalesce(CAST(a.ua_id AS BIGINT), -1)
