-- Interactions of each group by address, to compare the addresses with a file of networks.
--
-- first_key bigint: As in robot_groups.
-- second_key bigint: As in robot_groups.
-- address text: The address.
-- interactions bigint: Interactions.
WITH pairs AS (
  SELECT
    :first_key AS first_key,
    :second_key AS second_key,
    i.address_id,
    count(*) AS interactions
  FROM interactions i
  :joined
  WHERE i.address_id IS NOT NULL
  GROUP BY :group_by, i.address_id
)
SELECT p.first_key, p.second_key, a.text AS address, p.interactions
FROM addresses a
JOIN pairs p ON a.address_id = p.address_id
WHERE a.text IS NOT NULL
