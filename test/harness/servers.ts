import { rm } from 'node:fs/promises'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import * as nats from '#hack/nats/nats.ts'
import { findPostgres } from '#hack/postgres/find.ts'
import { postgresMissing } from '#hack/postgres/missing.ts'
import * as postgres from '#hack/postgres/postgres.ts'
import { temporaryFolder } from '#hack/process/folder.ts'

export { postgresMissing }

/** A nats-server with JetStream of one's own. Stop it, or take it with `await using`. @param config path of a configuration file */
export const startNats = async (config?: string): Promise<nats.Nats & AsyncDisposable> => {
  const folder = await temporaryFolder('nats')
  return removing(await nats.startNats(await ensureBinaries(CONTROL_PLANE, console.error), folder, config), folder)
}

/**
 * A PostgreSQL of one's own. Skip the test with `postgresMissing()` where there is none.
 * @param settings `name=value`; nothing is forced to the disk unless they say so
 */
export const startPostgres = async (settings?: readonly string[]): Promise<postgres.Postgres & AsyncDisposable> => {
  const programs = findPostgres()
  if (programs === undefined) throw new Error(postgresMissing())
  const folder = await temporaryFolder('postgres')
  return removing(await postgres.startPostgres(programs, folder, settings), folder)
}

const removing = <S extends { stop(): Promise<void> }>(server: S, folder: string): S & AsyncDisposable => {
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { ...server, stop, [Symbol.asyncDispose]: stop }
}
