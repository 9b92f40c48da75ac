-- What the published query would count: contacts by the newest interactions that their cache
-- keeps, and then all interactions of these contacts.
--
-- contacts bigint: Contacts with an interaction at the place.
-- contact_sessions bigint: All interactions of these contacts, wherever from.
-- cached_contacts bigint: Contacts whose cache has an interaction at the place.
-- cached_sessions bigint: All interactions of these contacts, wherever from.
WITH ranked AS (
  SELECT
    contact_id,
    CASE WHEN :place_key IN (:chosen) THEN 1 ELSE 0 END AS here,
    start_utc,
    row_number() OVER (
      PARTITION BY contact_id ORDER BY start_utc DESC, interaction_id DESC
    ) AS newest,
    max(start_utc) OVER (PARTITION BY contact_id) AS last_ms
  FROM interactions
  WHERE start_utc IS NOT NULL
    AND contact_id IN (SELECT contact_id FROM interactions WHERE :place_key IN (:chosen))
),
of_contacts AS (
  SELECT
    contact_id,
    count(*) AS sessions,
    max(here) AS here,
    max(CASE
      WHEN newest <= :cache_interactions AND start_utc >= last_ms - :cache_ms THEN here
      ELSE 0
    END) AS cached
  FROM ranked
  GROUP BY contact_id
)
SELECT
  sum(here) AS contacts,
  sum(CASE WHEN here = 1 THEN sessions ELSE 0 END) AS contact_sessions,
  sum(cached) AS cached_contacts,
  sum(CASE WHEN cached = 1 THEN sessions ELSE 0 END) AS cached_sessions
FROM of_contacts
