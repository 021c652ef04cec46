/** What stands beside the suite on kind, each as a pod that a restricted namespace would take: Git, PostgreSQL, devices. */
import { randomBytes } from 'node:crypto'
import { createUser } from '@nats-io/nkeys'
import { GIT_IMAGE, POSTGRES_IMAGE } from '#hack/image/local/images.ts'
import { certificateFor } from '../../certificates.ts'

type Manifest = Readonly<Record<string, unknown>>

export const GIT_NAMESPACE = 'git'
/** Of the bare repository, in its pod. */
export const GIT_FOLDER = '/srv/git/muster.git'
/** As pods read it. */
export const GIT_URL = `git://git.${GIT_NAMESPACE}.svc.cluster.local/muster.git`

export const DATABASE_NAMESPACE = 'database'
export const DEVICE_NAMESPACE = 'devices'

const NONROOT = 65_532
/** Debian's own number for it, which the image has. */
const POSTGRES_USER = 999

/** One container in one pod. */
interface Program {
  readonly name: string
  readonly namespace: string
  readonly user: number
  readonly container: Manifest
  readonly initContainers?: readonly Manifest[]
  readonly volumes: readonly Manifest[]
}

const NO_PRIVILEGES = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

const namespace = (name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
})

const deployment = ({ name, namespace: where, user, container, initContainers = [], volumes }: Program): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: where },
  spec: {
    strategy: { type: 'Recreate' },
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: user,
          runAsGroup: user,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        initContainers: initContainers.map((one) => ({ ...one, securityContext: NO_PRIVILEGES })),
        containers: [{ name, ...container, securityContext: NO_PRIVILEGES }],
        volumes,
      },
    },
  },
})

const service = (name: string, where: string, port: number): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: where },
  spec: { selector: { app: name }, ports: [{ port }] },
})

const GIT_PORT = 9418

/** A bare repository that every client may read by Git's own protocol; it is written by `kubectl exec`. */
export const gitServer = (): readonly Manifest[] => [
  namespace(GIT_NAMESPACE),
  service('git', GIT_NAMESPACE, GIT_PORT),
  deployment({
    name: 'git',
    namespace: GIT_NAMESPACE,
    user: NONROOT,
    container: {
      image: GIT_IMAGE,
      command: [
        'sh',
        '-euc',
        `git init --quiet --bare --initial-branch=main ${GIT_FOLDER}; exec git daemon --export-all --base-path=/srv/git`,
      ],
      env: [{ name: 'HOME', value: '/tmp' }],
      ports: [{ containerPort: GIT_PORT }],
      startupProbe: { tcpSocket: { port: GIT_PORT }, periodSeconds: 1, failureThreshold: 600 },
      // Each connection is a process of git.
      readinessProbe: { tcpSocket: { port: GIT_PORT } },
      volumeMounts: [
        { name: 'repositories', mountPath: '/srv/git' },
        { name: 'tmp', mountPath: '/tmp' },
      ],
    },
    volumes: [
      { name: 'repositories', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ],
  }),
]

const POSTGRES_PORT = 5432
const DATA = '/var/lib/postgresql/data'

/** As pods find it. */
export const DATABASE_HOST = `postgres.${DATABASE_NAMESPACE}.svc.cluster.local`

/** What its administrator reads: the Secret with the password of its user muster, and with the certificate that is its own authority. */
export const DATABASE_SECRET = 'postgres'

/**
 * A PostgreSQL with a volume of its own. It speaks TLS, and without it to all but the role hyperfleet, as docs/install-production.md has it.
 * @param password of its user muster
 */
export const postgresServer = async (password: string): Promise<readonly Manifest[]> => {
  const { cert, key } = await certificateFor('postgres', [DATABASE_HOST])
  const container = {
    image: POSTGRES_IMAGE,
    volumeMounts: [
      { name: 'data', mountPath: '/var/lib/postgresql' },
      { name: 'secret', mountPath: '/run/secrets/postgres', readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
  const access = '--username=muster --auth=scram-sha-256 --pwfile=/run/secrets/postgres/password'
  const listening = [
    'hostssl hyperfleet hyperfleet all scram-sha-256',
    'hostnossl all hyperfleet all reject',
    'host all all all scram-sha-256',
  ].join('\\n')
  // Where it looks for them, with the rights that it wants.
  const certificate = `umask 077; cat /run/secrets/postgres/tls.crt > ${DATA}/server.crt; cat /run/secrets/postgres/tls.key > ${DATA}/server.key`
  return [
    namespace(DATABASE_NAMESPACE),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: DATABASE_SECRET, namespace: DATABASE_NAMESPACE },
      stringData: { password, 'tls.crt': cert, 'tls.key': key },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'postgres', namespace: DATABASE_NAMESPACE },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    service('postgres', DATABASE_NAMESPACE, POSTGRES_PORT),
    deployment({
      name: 'postgres',
      namespace: DATABASE_NAMESPACE,
      user: POSTGRES_USER,
      initContainers: [
        {
          ...container,
          name: 'initdb',
          command: [
            'sh',
            '-euc',
            `[ -s ${DATA}/PG_VERSION ] || { initdb -D ${DATA} --encoding=UTF8 --locale=C.UTF-8 ${access}; printf '${listening}\\n' >> ${DATA}/pg_hba.conf; }; ${certificate}`,
          ],
        },
      ],
      container: {
        ...container,
        command: ['postgres', '-D', DATA, '-h', '*', '-c', 'unix_socket_directories=/tmp', '-c', 'ssl=on'],
        ports: [{ containerPort: POSTGRES_PORT }],
        // As every database has its share: without one all that runs here, and beside it, goes first.
        resources: { requests: { cpu: '50m' } },
        // A program that is run in a container costs the node a tenth of a core-second: until it has begun, and no longer.
        startupProbe: {
          exec: { command: ['pg_isready', '-h', '127.0.0.1', '-q'] },
          periodSeconds: 2,
          timeoutSeconds: 10,
          failureThreshold: 300,
        },
        readinessProbe: { tcpSocket: { port: POSTGRES_PORT }, periodSeconds: 5 },
      },
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'postgres' } },
        { name: 'secret', secret: { secretName: DATABASE_SECRET } },
        { name: 'tmp', emptyDir: {} },
      ],
    }),
  ]
}

/** PostgreSQL with a password of its own, and the Secret by which the API in that namespace finds it. */
export const database = async (apiNamespace: string): Promise<readonly Manifest[]> => {
  const password = randomBytes(12).toString('hex')
  return [
    ...(await postgresServer(password)),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'hyperfleet-api-database', namespace: apiNamespace },
      stringData: { url: `postgres://muster:${password}@${DATABASE_HOST}:${POSTGRES_PORT}/postgres` },
    },
  ]
}

/** Of each device. */
export type DeviceKeys = Readonly<Record<string, { readonly seed: string; readonly publicKey: string }>>

export const deviceKeys = (devices: readonly string[]): DeviceKeys =>
  Object.fromEntries(
    devices.map((device) => {
      const pair = createUser()
      return [device, { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() }]
    }),
  )

/** By which NATS knows devices: docs/fleet-agent.md. */
export const declaredKeys = (where: string, keys: DeviceKeys): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'nats-devices', namespace: where },
  data: Object.fromEntries(Object.entries(keys).map(([device, { publicKey }]) => [device, publicKey])),
})

export interface DevicePods {
  /** Our image. */
  readonly image: string
  /** The server, the certificates of its authorities, and the keys that it lets devices in by. */
  readonly nats: { readonly url: string; readonly ca: string; readonly keys: DeviceKeys }
  /** By which devices know what the fleet operator has signed, in PEM. */
  readonly publicKeys: string
  /** Labels of the Devices, as `--labels` takes them, by name. */
  readonly devices: Readonly<Record<string, string>>
}

/** Machines of the fleet, each a pod with the agent and, from busybox, a shell for its programs. */
export const devicePods = ({ image, nats, publicKeys, devices }: DevicePods): readonly Manifest[] => [
  namespace(DEVICE_NAMESPACE),
  ...Object.keys(devices).map((name) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `nats-${name}`, namespace: DEVICE_NAMESPACE },
    stringData: { seed: nats.keys[name]?.seed ?? '', 'ca.crt': nats.ca, 'fleet.pem': publicKeys },
  })),
  ...Object.entries(devices).map(([name, labels]) =>
    deployment({
      name,
      namespace: DEVICE_NAMESPACE,
      user: NONROOT,
      initContainers: [
        {
          name: 'shell',
          image: 'docker.io/library/busybox:1.37.0',
          command: ['sh', '-euc', 'cp /bin/busybox /tools; /tools/busybox --install -s /tools'],
          volumeMounts: [{ name: 'tools', mountPath: '/tools' }],
        },
      ],
      container: {
        image,
        args: [
          'agent',
          `--device=${name}`,
          `--labels=${labels}`,
          `--nats-url=${nats.url}`,
          '--nats-credentials=/etc/nats/seed',
          '--nats-ca=/etc/nats/ca.crt',
          '--fleet-public-keys=/etc/nats/fleet.pem',
          '--state-dir=/state',
          '--program-user=self',
          '--stop-workloads',
        ],
        env: [{ name: 'PATH', value: '/usr/local/bin:/tools' }],
        volumeMounts: [
          { name: 'state', mountPath: '/state' },
          { name: 'tools', mountPath: '/tools', readOnly: true },
          { name: 'nats', mountPath: '/etc/nats', readOnly: true },
        ],
      },
      volumes: [
        { name: 'state', emptyDir: {} },
        { name: 'nats', secret: { secretName: `nats-${name}` } },
        { name: 'tools', emptyDir: {} },
      ],
    }),
  ),
]
