/** Places of the source that no request of the catalogue comes to, by how they begin, and why that is so. */
export const UNASKED: Readonly<Record<string, string>> = {
  'takeover/': 'muster migrate sends these, while it takes the database of a Go service over',
  'storage/layout/': 'the layout is brought up to date before anything is served',
  'events/jetstream/': 'with NATS alone',
  'events/consumers.ts: const consumerExists': 'with NATS alone',
  'events/deliveries.ts: for (const [sequence, reply] of replies': 'with NATS alone',
  'feed/history.ts: await __vite_ssr_import_0__.sql`delete from sqlite_sequence': 'of SQLite',
  'feed/history.ts: await __vite_ssr_import_0__.sql`insert into sqlite_sequence': 'of SQLite',
  'feed/changes.ts: const readFloor ': 'tests alone ask it',
  'feed/history.ts: if (numUpdatedRows === 0n)': 'while a backup is restored, before the row of the floor is there',
  'feed/origin.ts: const TABLES': 'made when the program starts, and a part of each read of changes',
  'storage/record-origins.ts': 'with issuers alone: a row an issuer, once at the start',
  'storage/list.ts: const query = ': 'the total of a page whose rows went while it was read: it is that of the page',
  'storage/write-resource.ts: ': 'of SQLite, but for references',
}
