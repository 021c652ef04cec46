import { existsSync } from 'node:fs'
import { chown, copyFile, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Bill } from '#hack/build/bill.ts'
import type { Bundle } from '#hack/build/bundle.ts'
import { BILL, NOTICES, ship } from '#hack/build/ship.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { podmanMissing } from '#hack/podman/missing.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { inContainer } from './container.ts'
import { digestsIn, type Place } from './place.ts'
import { unpacked, unpackedMissing } from './unpacked.ts'

let dist: string
let shipped: Bundle

beforeAll(async () => {
  dist = join(await temporaryFolder('dist'), 'dist')
  shipped = await ship(dist)
})

describe('what is shipped says what it is made of', () => {
  const bill = async () => JSON.parse(await readFile(join(dist, BILL), 'utf8')) as Bill

  /** Packages of which esbuild put something into the bundle, found by the package.json above each source. */
  const bundled = async (): Promise<readonly string[]> => {
    const sources = Object.values(shipped.metafile.outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    )
    const names = new Set<string>()
    for (const source of sources.filter((path) => path.includes('node_modules/'))) {
      let folder = join(CHECKOUT, source)
      let about: { name?: string; version?: string } = {}
      // A package may have others in it that only say how its modules are to be read.
      while (about.name === undefined || about.version === undefined) {
        folder = dirname(folder)
        const file = join(folder, 'package.json')
        if (existsSync(file)) about = JSON.parse(await readFile(file, 'utf8'))
      }
      names.add(`${about.name}@${about.version}`)
    }
    return [...names]
  }

  test('the bill lists exactly the packages in the bundle, the dashboard’s library, and Node.js', async () => {
    const { components } = await bill()
    const listed = components.map(({ name, version }) => `${name}@${version}`)
    const htmx = listed.filter((name) => name.startsWith('htmx.org@'))
    const node = `node-${process.platform}-${process.arch}@${process.versions.node}`
    expect(htmx).toHaveLength(1)
    expect(listed.toSorted()).toEqual([...(await bundled()), ...htmx, node].toSorted())
  })

  test('each with its digest in the lockfile and its licence', async () => {
    const { components, metadata } = await bill()
    for (const { hashes, purl } of components) {
      expect(hashes?.[0]?.content, purl).toMatch(/^[0-9a-f]{128}$/)
    }
    const licences = new Set(components.map(({ licenses }) => JSON.stringify(licenses)))
    expect([...licences].toSorted()).toMatchInlineSnapshot(`
      [
        "[{"expression":"0BSD"}]",
        "[{"expression":"Apache-2.0"}]",
        "[{"expression":"BSD-3-Clause"}]",
        "[{"expression":"ISC"}]",
        "[{"expression":"MIT"}]",
        "[{"expression":"Unlicense"}]",
      ]
    `)
    expect(metadata.component).toMatchObject({ name: 'muster', version: shipped.info.version })
  })

  test('the notices have the text of each licence', async () => {
    const text = await readFile(join(dist, NOTICES), 'utf8')
    for (const { name, version } of (await bill()).components) expect(text).toContain(`\n${name} ${version} (`)
  })
})

const PLACES = {
  'in a container of podman': {
    missing: podmanMissing,
    lay: () => inContainer(),
  },
  'unpacked in a folder': {
    missing: unpackedMissing,
    lay: () => {
      const { version, commit, time } = shipped.info
      return unpacked(dist, { VERSION: version, COMMIT: commit, TIME: time })
    },
  },
} satisfies Record<string, { missing(): string | undefined; lay(): Promise<Place | string> }>

const USER = 65_532

/** A folder that the image's user may write. */
const volume = async (name: string): Promise<string> => {
  const folder = await temporaryFolder(name)
  await chown(folder, USER, USER)
  return folder
}

describe.for(Object.entries(PLACES))('the image %s', ([, { missing, lay }]) => {
  describe.skipIf(missing() !== undefined)(missing() ?? 'runs', () => {
    let place: Place
    let cluster: ControlPlane
    /** Why it can't be run here, found out by trying. */
    let refused: string | undefined

    beforeAll(async () => {
      cluster = await sharedControlPlane()
      const laid = await lay()
      if (typeof laid === 'string') refused = laid
      else place = laid
    }, 420_000)
    beforeEach(({ skip }) => {
      if (refused !== undefined) skip(refused)
    })
    afterAll(() => place?.[Symbol.asyncDispose]())

    /** How a run to its end ended. */
    const ending = async (args: readonly string[], program?: string) => {
      await using process = await place.start({ args, ...(program === undefined ? {} : { program }) })
      const { code } = await process.exited
      return { code, output: process.output() }
    }

    test('holds Node.js, the bundle and what starts it, and nothing else; byte for byte what the checkout builds', async () => {
      const files = await place.files()
      const { '/usr/local/bin/node': node, '/usr/local/bin/muster': start, '/sentinel': sentinel, ...bundle } = files
      expect([node, start, sentinel]).not.toContain(undefined)
      const built = await digestsIn(dist)
      expect(bundle).toEqual(
        Object.fromEntries(Object.entries(built).map(([path, digest]) => [`/opt/muster${path}`, digest])),
      )
    })

    test('SENTINEL-42: /sentinel is a manager with the Sentinel, so that a Deployment with that command needs another image only', async () => {
      const { code, output } = await ending(['--help'], '/sentinel')
      expect([code, output]).toEqual([0, expect.stringContaining('muster manager')])
    })

    test('says who it is, and starts as a number that is not root', () => {
      const { version, commit, time } = shipped.info
      expect(place.configuration).toMatchObject({
        user: `${USER}:${USER}`,
        entrypoint: ['/usr/local/bin/muster'],
        labels: {
          'org.opencontainers.image.title': 'muster',
          'org.opencontainers.image.licenses': 'Apache-2.0',
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.revision': commit,
          'org.opencontainers.image.created': time,
        },
      })
    })

    test('is the bundle of this commit, on the Node.js of the lockfile', async () => {
      const { code, output } = await ending(['version', '--output=json'])
      expect(code).toBe(0)
      expect(JSON.parse(output)).toEqual({ ...shipped.info, node: process.version })
    })

    test('helps, and refuses what it does not know', async () => {
      expect(await ending(['--help'])).toMatchObject({ code: 0, output: expect.stringContaining('Usage: muster') })
      expect(await ending(['manager', '--controlers=sentinel'])).toMatchObject({
        code: 2,
        output: expect.stringContaining('--controllers'),
      })
    })

    test('starts by its name too, as the Deployments of the managers do', async () => {
      expect(await ending(['version'], 'muster')).toMatchObject({ code: 0, output: expect.stringContaining('muster ') })
    })

    test('attack: a program in it looks for privileges, and writes: it has none, and writes nowhere', async () => {
      const program = `
        const { readFileSync, writeFileSync } = require('node:fs')
        const written = ['/', '/tmp/', '/opt/muster/', '/usr/local/bin/'].map((folder) => {
          try { writeFileSync(folder + 'x', ''); return folder } catch (error) { return error.code }
        })
        const status = readFileSync('/proc/self/status', 'utf8')
        const of = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)[1]
        console.log(JSON.stringify({ uid: process.getuid(), gid: process.getgid(), written, effective: of('CapEff'), noNew: of('NoNewPrivs') }))`
      const { output } = await ending(['--eval', program], '/usr/local/bin/node')
      expect(JSON.parse(output)).toEqual({
        uid: USER,
        gid: USER,
        written: Array(4).fill(expect.stringMatching(/^(EROFS|EACCES)$/)),
        effective: '0'.repeat(16),
        noNew: '1',
      })
    })

    test('its API keeps data in a volume, its manager pulses what is there, and both end cleanly', async () => {
      const data = await volume('data')
      const namespace = await cluster.namespace('image')
      const account = await access(cluster, namespace)
      const bound = ['--metrics-bind-address=127.0.0.1:0', '--health-probe-bind-address=127.0.0.1:0']
      const serve = () =>
        place.start({
          args: ['api', '--bind-address=127.0.0.1:0', '--data-dir=/data', ...bound],
          volumes: { '/data': data },
        })
      const urlOf = async (process: Awaited<ReturnType<typeof serve>>) =>
        String((await process.line('the HyperFleet API is serving')).url)

      await using first = await serve()
      const cluster1 = await fetch(`${await urlOf(first)}/api/hyperfleet/v1/clusters`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ kind: 'Cluster', name: 'kept', labels: { region: namespace }, spec: {} }),
      })
      expect(cluster1.status).toBe(201)
      const { id } = (await cluster1.json()) as { id: string }
      expect(await first.stop()).toEqual({ code: 0, signal: null })

      await using api = await serve()
      await using manager = await place.start({
        args: [
          'manager',
          '--controllers=sentinel',
          '--kubeconfig=/access/kubeconfig',
          `--hyperfleet-api-url=${await urlOf(api)}`,
          `--namespace=${namespace}`,
          ...bound,
        ],
        env: {
          NODE_OPTIONS: '--max-old-space-size=80 --max-semi-space-size=2',
          MALLOC_ARENA_MAX: '2',
          MALLOC_MMAP_THRESHOLD_: '32000',
        },
        volumes: { '/access': account },
      })
      const port = Number((await manager.line('serving health probes')).port)
      await manager.line('caches are filled')
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
      await cluster.rest('POST', `/apis/hyperfleet.redhat.com/v1alpha1/namespaces/${namespace}/sentinelconfigs`, {
        apiVersion: 'hyperfleet.redhat.com/v1alpha1',
        kind: 'SentinelConfig',
        metadata: { name: 'here' },
        spec: {
          resourceType: 'clusters',
          shardSelector: { matchLabels: { region: namespace } },
          hyperfleetAPI: { url: await urlOf(api) },
        },
      })
      expect(await manager.line('sentinel: pulsed')).toMatchObject({ id, reason: 'New' })
      expect(await manager.stop()).toEqual({ code: 0, signal: null })
      expect(await api.stop()).toEqual({ code: 0, signal: null })
    })
  })
})

/** A folder with the kubeconfig of the Sentinel's ServiceAccount, with its rights in that namespace, for the image's user alone. */
const access = async (cluster: ControlPlane, namespace: string): Promise<string> => {
  const rights = await readFile(join(CHECKOUT, 'kustomize/base/rbac/sentinel.yaml'), 'utf8')
  const folder = await volume('access')
  await writeFile(
    join(folder, 'rights.yaml'),
    rights.replaceAll('namespace: hyperfleet-system', `namespace: ${namespace}`),
  )
  await cluster.kubectl('apply', '--filename', join(folder, 'rights.yaml'))
  const file = join(folder, 'kubeconfig')
  await copyFile(await cluster.kubeconfigFor('hyperfleet-sentinel', namespace), file)
  await chown(file, USER, USER)
  return folder
}
