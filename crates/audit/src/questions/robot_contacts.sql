-- Contacts of each group.
--
-- first_key bigint: As in robot_groups.
-- second_key bigint: As in robot_groups.
-- contacts bigint: Distinct contacts.
-- returning_contacts bigint: Those with more than one interaction in the group.
-- busiest_contact bigint: Interactions of the contact with the most.
-- known_contacts bigint: Those that the source knows by name.
-- stored_robot bigint: Interactions of contacts that the source classifies as robots.
-- classified bigint: Interactions of contacts with any classification.
WITH visits AS (
  SELECT :first_key AS first_key, :second_key AS second_key, i.contact_id, count(*) AS visits
  FROM interactions i
  :joined
  GROUP BY :group_by, i.contact_id
),
judged AS (
  SELECT
    contact_id,
    known,
    coalesce(override_classification, classification) AS verdict
  FROM contacts
)
SELECT
  v.first_key,
  v.second_key,
  count(*) AS contacts,
  sum(CASE WHEN v.visits > 1 THEN 1 ELSE 0 END) AS returning_contacts,
  max(v.visits) AS busiest_contact,
  sum(CASE WHEN j.known THEN 1 ELSE 0 END) AS known_contacts,
  sum(CASE WHEN j.verdict >= 900 THEN v.visits ELSE 0 END) AS stored_robot,
  sum(CASE WHEN j.verdict IS NOT NULL THEN v.visits ELSE 0 END) AS classified
FROM judged j
RIGHT JOIN visits v ON j.contact_id = v.contact_id
GROUP BY v.first_key, v.second_key
