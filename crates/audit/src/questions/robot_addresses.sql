-- Addresses of each group.
--
-- first_key bigint: As in robot_groups.
-- second_key bigint: As in robot_groups.
-- addresses bigint: Distinct addresses.
WITH pairs AS (
  SELECT DISTINCT :first_key AS first_key, :second_key AS second_key, i.address_id
  FROM interactions i
  :joined
  WHERE i.address_id IS NOT NULL
)
SELECT first_key, second_key, count(*) AS addresses
FROM pairs
GROUP BY first_key, second_key
