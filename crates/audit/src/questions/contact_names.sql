-- The names of some contacts.
--
-- contact_id bigint: Its key.
-- guid_high bigint: The first 16 hexadecimal digits of its GUID as a number.
-- guid_low bigint: The last 16 hexadecimal digits.
SELECT c.contact_id, c.guid_high, c.guid_low
FROM contacts c
WHERE c.contact_id IN (:keys)
