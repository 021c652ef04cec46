/** A second kube-apiserver on the etcd of a control plane, whose word comes late to it alone. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { commandLine } from '#hack/cluster/local/commandline.ts'
import { readToken } from '#hack/cluster/local/credentials.ts'
import { layoutOf } from '#hack/cluster/local/layout.ts'
import { isReady } from '#hack/cluster/local/readiness.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { startChild, untilReady } from '#hack/process/child.ts'
import { freePort } from '#hack/process/ports.ts'
import { type Rest, rest } from './connection.ts'
import type { OwnControlPlane } from './controlplane.ts'
import { type EtcdDelays, startLateEtcd } from './late-etcd.ts'

export interface LateApiServer extends AsyncDisposable {
  /** https://127.0.0.1:port, with the certificate, the tokens and the objects of the other one. */
  readonly server: string
  /** The admin's plain REST calls of it. */
  readonly rest: Rest
}

const SOCKET = 'late.sock'

/** Resolves when it is ready, and late from then on. */
export const startLateApiServer = async (plane: OwnControlPlane, delays: EtcdDelays): Promise<LateApiServer> => {
  await using stack = new AsyncDisposableStack()
  const layout = layoutOf(dirname(plane.kubeconfig))
  const etcd = stack.use(await startLateEtcd(join(layout.folder, SOCKET), join(layout.folder, 'etcd.sock')))
  const [port, binaries] = [await freePort(), await ensureBinaries(CONTROL_PLANE, console.error)]
  const args = commandLine('kube-apiserver', layout, { apiserver: port, kwok: 0 })
  const child = await startChild({
    name: 'late-apiserver',
    command: join(binaries, 'kube-apiserver'),
    args: args.map((arg) => (arg.startsWith('--etcd-servers=') ? `--etcd-servers=unix://${SOCKET}` : arg)),
    cwd: layout.folder,
    logFile: join(layout.folder, 'late-apiserver.log'),
    guarded: true,
  })
  stack.defer(async () => {
    await child.kill()
  })
  const server = `https://127.0.0.1:${port}`
  const [ca, token] = [await readFile(layout.certificate, 'utf8'), await readToken(layout, 'admin')]
  await untilReady(child, () => isReady(server, { ca }, token), { timeout: 180_000 })
  // Not before: one that starts gives up what takes too long.
  etcd.delay(delays)
  const running = stack.move()
  return {
    server,
    rest: rest({ server, certificateAuthority: ca, token, kubeconfig: plane.kubeconfig, binaries }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
