import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PAGES } from './commands.ts'
import { type Block, commandsBelow, type Page, parsePage, REPOSITORY } from './page.ts'
import { notRunBy } from './run-by.ts'
import { ARGOCD, WORLDS } from './worlds.ts'

/** A command about an object of a namespace, by its name, or about a folder of them. */
const NAMED_OBJECT =
  /\bkubectl (?:(?:apply|delete) -k|(?:get|wait|describe|patch|delete|annotate|scale) (?:clusterpool|clusterclaim|clusterdeployment|clusterdeploymentcustomization|fleetdep|adaptertask|sentinelconfig|configmap|secret|lease)s?[ /](?!-)\S)/
const NAMESPACE = /(?:^| )(?:-n |--namespace|-A\b|--all-namespaces|--kubeconfig=)/

describe('links', () => {
  test.each(PAGES.map((page) => [page.path, page] as const))('of %s lead somewhere', (_, page) => {
    expect(
      localLinks(page)
        .filter((link) => !leadsSomewhere(link))
        .map(({ href }) => href),
    ).toEqual([])
  })

  test('lead from the README to every page', () => {
    const reached = new Set<string>()
    const visit = (path: string): void => {
      const page = pageAt(path)
      if (page === undefined || reached.has(path)) return
      reached.add(path)
      for (const link of localLinks(page)) visit(link.path)
    }
    visit('README.md')
    expect(PAGES.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([])
  })
})

describe('the way of a new user', () => {
  const way =
    pageAt('docs/README.md')
      ?.text.split('\n')
      .filter((line) => /^[2-6]\. /.test(line)) ?? []
  const pages = way.flatMap((line) => [...line.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, file]) => `docs/${file}`))

  test.each(pages)('%s ends with where to go next', (path) => {
    const last = pageAt(path)?.text.trimEnd().split('\n\n').at(-1) ?? ''
    expect(last).toMatch(/\]\([\w/-]+\.md/)
  })
})

describe('paths', () => {
  test.each(PAGES.map((page) => [page.path, page] as const))('that %s names are there', (_, { text }) => {
    const named = [...text.matchAll(/`([a-z]+\/[\w./*{},-]+)`/g)].map(([, path]) => path ?? '')
    const ours = named.filter((path) => FOLDERS.includes(path.split('/')[0] ?? ''))
    expect(ours.filter((path) => globSync(path, { cwd: REPOSITORY }).length === 0)).toEqual([])
  })
})

describe('commands', () => {
  test.each(pagesWithCommands().map((page) => [page.path, page] as const))('of %s run somewhere', (_, page) => {
    const isRunHere = page.blocks.some(({ way }) => way.how === 'here' || way.how === 'beside')
    if (isRunHere) expect([...Object.keys(WORLDS), ARGOCD]).toContain(page.world)
    const problems = page.blocks.flatMap((block) => {
      const problem = block.way.how === 'elsewhere' ? notRunBy(block.way.test, page, block) : undefined
      return problem === undefined ? [] : [`${block.commands.split('\n')[0]}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  // A reader comes from other pages, which set the namespace of the context; here each page has a kubeconfig of its own.
  test.each(pagesWithCommands().map((page) => [page.path, page] as const))(
    'of %s find their objects whatever namespace the page before has set',
    (_, { world, blocks }) => {
      if (world !== 'up') return
      const lines = blocks.filter(({ way }) => way.how === 'here').flatMap(({ commands }) => commands.split('\n'))
      const isSet = lines.some((line) => line.includes('config set-context --current --namespace='))
      expect(isSet ? [] : lines.filter((line) => NAMED_OBJECT.test(line) && !NAMESPACE.test(line))).toEqual([])
    },
  )

  test('stand in blocks of sh, where they are run', () => {
    const strays = PAGES.flatMap(({ path, plainFences }) =>
      plainFences.filter((fence) => COMMAND.test(fence)).map((fence) => `${path}: ${fence.split('\n')[0]}`),
    )
    expect(strays).toEqual([])
  })

  test('that no test can run have a reason', () => {
    expect(unrun()).toMatchInlineSnapshot(`
      [
        "README.md: npm run up      # a cluster, NATS, the HyperFleet API, the managers and three devices, with samples; shows how they get on. Ctrl-C takes it all away: the first runs until Ctrl-C, and test/e2e/up.test.ts stops it; the second is what runs these tests",
        "docs/adapter-debugging.md: kubectl create serviceaccount runs-reader -n hyperfleet-system: pods run only in name on a local control plane; test/integration/adapter/runs.test.ts has the readers",
        "docs/adapter-tasks.md: kubectl config set-context --current --namespace=hyperfleet-system: pods run only in name on a local control plane",
        "docs/api-events.md: nats --server=nats://host:4222 consumer next hyperfleet-events dns --wait=20s --ack: the nats command is no part of the checkout",
        "docs/api-security.md: kubectl create token hyperfleet-developer -n hyperfleet-system --audience=hyperfleet-api: it needs the API that npm run up has; docs/adapter-tasks.md makes and uses the same token",
        "docs/benchmarks.md: npm run bench -- runtime-throughput            # one of them: each takes minutes of a quiet machine",
        "docs/contributing.md: npm run check: npm test begins with it",
        "docs/contributing.md: npm test                                                        # everything: the suite that runs this page would run itself",
        "docs/contributing.md: npm run build: it writes dist/ into the checkout; test/integration/cmd/bundle.test.ts runs the same bundle from a folder of its own",
        "docs/dashboard.md: kubectl port-forward -n hyperfleet-system deployment/hyperfleet-adapter 8083:8083: pods run only in name on a local control plane",
        "docs/fire.md: npm run test:fire: it is what runs test/e2e/fire/fire.test.ts",
        "docs/fire.md: MUSTER_FIRE_SEED=86362 npm run test:fire: it is what runs test/e2e/fire/fire.test.ts",
        "docs/fleet-agent.md: sudo muster agent enroll --device=pump-17 --user=root --nats-url=tls://nats.example:4222 --nats-credentials=pump-17.nk --nats-ca=nats-ca.crt --fleet-public-keys=fleet-public.pem --labels=site=north: it needs a machine with systemd",
        "docs/fleet-keys.md: kubectl apply -f muster-credentials/nats-devices.yaml: the authorities are made by pods, which run only in name on a local control plane; test/e2e/argocd/flow.test.ts has devices with them",
        "docs/fleet-keys.md: kubectl get configmap fleet-signing -n hyperfleet-system -o jsonpath='{.data.public\\.pem}' > fleet-public.pem: the keys are made by pods, which run only in name on a local control plane",
        "docs/fleet-keys.md: openssl genpkey -algorithm ed25519 > next.pem: the Secret is made by a pod",
        "docs/fleet.md: kubectl get fleetdev pump-17 -o jsonpath='{.metadata.annotations.fleet\\.nationtech\\.io/reported-labels}{"\\n"}'   # what its agent says: it needs an agent",
        "docs/get-a-cluster.md: npm run up: it runs until Ctrl-C; test/e2e/up.test.ts runs it with --once, and stops it",
        "docs/gitops.md: kubectl create namespace hyperfleet-system --dry-run=client -o yaml | kubectl apply --server-side -f -: it needs a PostgreSQL of your own",
        "docs/image.md: npm run image: it needs a container engine; test/integration/image/image.test.ts builds and starts the same files, in an image where podman is",
        "docs/image.md: docker run --rm --read-only --cap-drop=all quay.io/hyperfleet/muster:v0.1.0 version: it needs a container engine; test/integration/image/image.test.ts builds and starts the same files, in an image where podman is",
        "docs/image.md: docker push quay.io/hyperfleet/muster:v0.1.0: it pushes to a registry",
        "docs/image.md: docker run --rm quay.io/hyperfleet/muster:v0.1.0 version: it needs an image built by others",
        "docs/image.md: id=$(docker create quay.io/hyperfleet/muster:v0.1.0) && docker cp "$id:/opt/muster/sbom.cdx.json" . && docker rm "$id": it needs a container engine",
        "docs/image.md: docker buildx imagetools inspect gcr.io/distroless/cc-debian13:nonroot --format '{{.Manifest.Digest}}': it asks public registries",
        "docs/install-production.md: npm run image -- --tag registry.example.com/platform/muster:v0.1.0: it builds, pushes and signs at a registry of your own",
        "docs/install-production.md: rm built.yaml: it commits to a fork of your own",
        "docs/install.md: npm run release -- --image=registry.example.com/platform/muster@sha256:3b1f0c8e5a7d92640c1b8ef73d5a9240e6c7f1b2a4d8093e5f6071829a3b4c5d: it needs an image of your own; docs/release.md has the same command, which a test runs",
        "docs/install.md: npm exec -- vitest run --update=true --project integration test/integration/delivery/golden.test.ts: it takes whatever is built as right; test/integration/delivery/golden.test.ts compares with it",
        "docs/migrate-hyperfleet.md: kubectl scale deployment/hyperfleet-sentinel --replicas=0: the names are those of your installation",
        "docs/providers.md: kubectl apply -k kustomize/providers/cluster-api: it needs Cluster API; test/integration/providers/cluster-api.test.ts applies the same folders",
        "docs/sizing.md: nats stream edit KV_fleet-desired --max-bytes=1GB: the nats command is no part of the checkout",
        "docs/troubleshoot/deletions.md: kubectl get clusterdeployments -A -o json | jq '[.items[].metadata | .namespace + "/" + .name]' >known.json: it needs clusters without a ClusterDeployment; docs/disaster-recovery.md has the same list",
        "docs/troubleshoot/nats.md: kubectl get secret nats-fleet -n hyperfleet-system -o jsonpath='{.data.seed}' | base64 -d > fleet.nk: the nats command is no part of the checkout",
      ]
    `)
  })
})

test('of all pages the commands have the program by one way, which works in each checkout; a device has it installed', () => {
  const others = PAGES.flatMap(({ path, blocks }) =>
    blocks.flatMap(({ commands }) =>
      commands
        .split('\n')
        .filter(
          (line) =>
            !line.startsWith('kubectl ') && /(^|[ |(])muster [a-z-]/.test(line.replaceAll('npm exec -- muster ', '')),
        )
        .map((line) => `${path}: ${line.split(' --')[0]}`),
    ),
  )
  expect(others).toEqual(['docs/fleet-agent.md: sudo muster agent enroll'])
})

test('a mark that names a test which does not take the block from the page is told', () => {
  const upgrade = pageAt('docs/upgrade.md') as Page
  const block = (commands: string): Block => ({ commands, way: { how: 'elsewhere', test: '' }, output: undefined })
  const taken = block('kubectl apply --server-side -f manifests/install.yaml')
  expect(notRunBy('test/integration/delivery/install.test.ts', upgrade, taken)).toBeUndefined()
  expect(notRunBy('test/integration/delivery/golden.test.ts', upgrade, taken)).toContain('does not read')
  expect(notRunBy('test/integration/delivery/install.test.ts', upgrade, block('true'))).toContain('names neither')
  expect(notRunBy('test/gone.test.ts', upgrade, taken)).toContain('is not there')
})

describe('a page', () => {
  test('whose comment says nothing is refused with what to write', () => {
    const text = '# A page\n\n<!-- exit: 1 -->\n```sh\nfalse\n```\n'
    expect(() => parsePage('docs/a.md', text)).toThrowErrorMatchingInlineSnapshot(
      `[PageError: docs/a.md: the comment "exit: 1" says nothing: write one of beside, refused, exits, not run, run by, a colon and more.]`,
    )
  })

  test('is run from top to bottom, the blocks of its lists in their places', () => {
    const text = '```sh\na\n```\n\n1. First:\n\n   ```sh\n   b\n   ```\n\n> ```sh\n> c\n> ```\n\n```sh\nd\n```\n'
    expect(parsePage('docs/a.md', text).blocks.map(({ commands }) => commands)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('has the blocks of its lists, and what they print', () => {
    const text = '1. First:\n\n   <!-- exits: 1 -->\n   ```sh\n   false\n   ```\n   ```text\n   no\n   ```\n'
    expect(parsePage('docs/a.md', text).blocks).toEqual([
      { commands: 'false', way: { how: 'here', exitCode: 1, refused: [] }, output: 'no' },
    ])
  })
})

const FOLDERS: readonly string[] = readdirSync(REPOSITORY).filter((name) => !name.includes('.') && name !== 'dist')

const COMMAND = /^\s*(\$ )?(kubectl|npm|muster|curl|nats|nats-server|docker|git|argocd|psql|pg_dump) [a-z-]/m

function pagesWithCommands(): readonly Page[] {
  return PAGES.filter(({ blocks }) => blocks.length > 0)
}

const unrun = (): readonly string[] =>
  PAGES.flatMap(({ path, blocks }) =>
    blocks.flatMap(({ commands, way }: Block) =>
      way.how === 'never' ? [`${path}: ${commands.split('\n')[0]}: ${way.reason}`] : [],
    ),
  )

interface Link {
  readonly href: string
  /** From the repository's root. */
  readonly path: string
  readonly anchor: string | undefined
}

/** Those that lead to other pages and files of the repository. */
const localLinks = ({ path, links }: Page): readonly Link[] =>
  links
    .filter((href) => !/^[a-z]+:/.test(href))
    .map((href) => {
      const [file = '', anchor] = href.split('#')
      return { href, path: file === '' ? path : normalize(join(dirname(path), file)), anchor }
    })

const pageAt = (path: string): Page | undefined => PAGES.find((page) => page.path === path)

const leadsSomewhere = ({ path, anchor }: Link): boolean => {
  if (!existsSync(join(REPOSITORY, path))) return false
  if (anchor === undefined) return true
  const page = pageAt(path) ?? parsePage(path, readFileSync(join(REPOSITORY, path), 'utf8'))
  return page.anchors.has(anchor)
}

test('the commands below a heading end with the next one of its level, and a comment among them is none', () => {
  const block = (commands: string) => ['```sh', commands, '```']
  const text = ['## A', ...block('# no heading\na'), '### B', ...block('b'), '## C', ...block('c')].join('\n')
  const page = parsePage('docs/a.md', text)
  expect(commandsBelow(page, 'A')).toEqual(['# no heading\na', 'b'])
  expect(commandsBelow(page, 'B')).toEqual(['b'])
  expect(commandsBelow(page, 'C')).toEqual(['c'])
  expect(() => commandsBelow(page, 'no heading')).toThrow('docs/a.md has no heading "no heading"')
})
