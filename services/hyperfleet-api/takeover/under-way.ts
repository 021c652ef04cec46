import { timestampOf } from '../model/timestamp.ts'
import type { Reader, Writer } from '../storage/dialect.ts'
import { TakeoverError } from './takeover-error.ts'

/** In the table `takeovers`, of no record: a takeover has begun and not come to its end. API-134. */
const UNDER_WAY = 'under-way'

/** Until `endTakeover` no API starts on the database; the time is that of the first beginning. */
export const beginTakeover = async (writer: Writer): Promise<void> => {
  await writer
    .insertInto('takeovers')
    .values({ id: UNDER_WAY, digest: '', time: timestampOf(new Date()) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export const endTakeover = async (writer: Writer): Promise<void> => {
  await writer.deleteFrom('takeovers').where('id', '=', UNDER_WAY).execute()
}

/** An API would remove a parent in deletion whose children are still to come. @throws TakeoverError */
export const refuseHalfTakenOver = async (reader: Reader): Promise<void> => {
  const row = await reader.selectFrom('takeovers').select('time').where('id', '=', UNDER_WAY).executeTakeFirst()
  if (row === undefined) return
  throw new TakeoverError(
    `a takeover began at ${row.time} and has not come to its end: say muster migrate hyperfleet again; if it is not to go on, delete from takeovers where id = '${UNDER_WAY}'`,
  )
}
