/** The lines of the table of roles in docs/security.md that a look at a cluster can say something about. SECURITY-1. */

/** A line: what a role must not be able to do. */
export interface Line {
  readonly role: string
  readonly mustNot: string
}

export const LINES = {
  entries: { role: 'holder of the fleet’s key of NATS, or of its store', mustNot: 'put programs on devices' },
  api: { role: 'stranger', mustNot: 'call the HyperFleet API without a token' },
  apiTraffic: { role: 'stranger', mustNot: 'answer in the place of the HyperFleet API, or read what it is told' },
  nats: { role: 'stranger', mustNot: 'reach NATS without a key, or without TLS' },
  traffic: { role: 'stranger', mustNot: 'reach a pod of Muster by a way that the install does not name' },
  allUsers: { role: 'stranger', mustNot: 'have rights on Muster’s custom resources by a group of all users' },
  accounts: { role: 'namespace editor', mustNot: 'act as an account of Muster, or read what it keeps secret' },
  administrator: { role: 'namespace editor', mustNot: 'be an administrator of the HyperFleet API' },
  configuration: { role: 'namespace editor', mustNot: 'write Muster’s configuration, such as the keys of devices' },
  devices: { role: 'namespace editor', mustNot: 'put programs on devices' },
  pools: { role: 'namespace editor', mustNot: 'join a pool by writing clusterPoolRef' },
  poolNamespaces: {
    role: 'namespace editor',
    mustNot: 'have a pool copy its Secrets into a namespace of theirs, or count a cluster there',
  },
  steps: {
    role: 'namespace editor',
    mustNot: 'take a finalizer of Muster off, or let a rollout of their own go on',
  },
  taskAccount: {
    role: 'task author',
    mustNot: 'choose a ServiceAccount with more rights than the administrator allowed',
  },
  taskFiles: { role: 'task author', mustNot: 'read a token, or a file that is not meant for tasks' },
  taskTargets: {
    role: 'task author',
    mustNot: 'reach addresses that the operator did not allow',
  },
  taskNamespaces: { role: 'task author', mustNot: 'have a provider write into a namespace that no pool made' },
  clusterTraffic: {
    role: 'task author',
    mustNot: 'reach Muster, others’ pods or the metadata of a machine’s cloud from a pod beside a cluster',
  },
  clusterPods: { role: 'task author', mustNot: 'run a pod with what its node has, beside a cluster' },
  providerRights: { role: 'task author', mustNot: 'have a provider hand its rights on, or change what the pool made' },
  workTraffic: { role: 'task author', mustNot: 'reach anything from hyperfleet-work that no overlay opens' },
  taskPlaces: { role: 'task author', mustNot: 'apply anything where Muster is' },
  taskLabels: {
    role: 'task author',
    mustNot: 'lower what a namespace asks of its pods, or label it for what an administrator allows',
  },
  poolBindings: { role: 'program in a pod of Muster', mustNot: 'let anyone in by the rights of a provider' },
  poolNetworks: {
    role: 'program in a pod of Muster',
    mustNot: 'open ways to pods by the right to close those beside clusters',
  },
  adapter: { role: 'adapter identity', mustNot: 'report for another adapter' },
  tokens: { role: 'adapter identity', mustNot: 'have tokens of other accounts, or for other servers' },
  claimSubject: { role: 'claim subject', mustNot: 'change the ClusterDeployment so that a Role follows' },
  claimGroups: { role: 'claim subject', mustNot: 'be a group of all users' },
  confirmation: { role: 'administrator', mustNot: 'delete a claimed cluster by mistake' },
  committer: {
    role: 'GitOps committer of a declared folder',
    mustNot: 'get rights, pods, Secrets, objects of Argo CD, or another namespace',
  },
  commits: {
    role: 'GitOps committer of a declared folder',
    mustNot: 'let a rollout go on, take a finalizer of Muster off, or take a cluster for a claim',
  },
  tenant: { role: 'API tenant', mustNot: 'write, or see others’ records, by a role that every token has' },
  load: { role: 'API reader', mustNot: 'exhaust memory or CPU' },
  defences: { role: 'namespace editor', mustNot: 'take away what holds others' },
  pods: { role: 'program in a pod of Muster', mustNot: 'be root, write its files, or reach the node' },
} as const satisfies Readonly<Record<string, Line>>
