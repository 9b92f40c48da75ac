-- Places.
--
-- place_id bigint: Key.
-- country text: Two letters.
-- region text: Region.
-- city text: City.
-- postal text: Postal code.
-- latitude_e6 bigint: Latitude in millionths of a degree.
-- longitude_e6 bigint: Longitude in millionths of a degree.
-- organisation text: Organisation of the network.
SELECT place_id, country, region, city, postal, latitude_e6, longitude_e6, organisation
FROM places
