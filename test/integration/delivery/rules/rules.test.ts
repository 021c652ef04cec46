import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { kubectl, kustomizations } from '../kustomize.ts'
import type { Manifest } from './manifest.ts'
import { KIND_RULES, OVERLAY_RULES, PRODUCTION_RULES } from './rules.ts'

const ALL_RULES = { ...OVERLAY_RULES, ...PRODUCTION_RULES, ...KIND_RULES }

/** What is no production. An overlay of a fork is: GITOPS-45. */
const LESS = ['dev', 'stage', 'member']

const overlays = kustomizations().filter((folder) => folder.startsWith('kustomize/overlays/'))

describe.each(overlays)('%s', async (overlay) => {
  const { stdout } = await kubectl('kustomize', overlay)
  const objects = loadAll(stdout) as Manifest[]

  const rules = LESS.includes(basename(overlay)) ? OVERLAY_RULES : { ...OVERLAY_RULES, ...PRODUCTION_RULES }
  test.each(Object.entries(rules))('%s', (_, rule) => {
    expect(rule(objects)).toEqual([])
  })
})

describe('the kinds', async () => {
  const built = await Promise.all(
    ['kustomize/base', 'manifests/argocd'].map(async (folder) => (await kubectl('kustomize', folder)).stdout),
  )
  // As they are written: not every sample is part of a build.
  const samples = globSync('kustomize/{samples,shards}/**/*.yaml', { exclude: ['**/kustomization.yaml'] }).map((file) =>
    readFileSync(file, 'utf8'),
  )
  const objects = [...built, ...samples].flatMap((text) => loadAll(text) as Manifest[])

  test.each(Object.entries(KIND_RULES))('%s', (_, rule) => {
    expect(rule(objects)).toEqual([])
  })
})

const labels = { app: 'a' }
const metadata = { name: 'a', namespace: 'elsewhere' }

/** A build in which every rule is broken once. */
const broken: readonly Manifest[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n', namespace: 'n' } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
  {
    apiVersion: 'hyperfleet.redhat.com/v1alpha1',
    kind: 'SentinelConfig',
    metadata: { ...metadata, annotations: { 'argocd.argoproj.io/sync-wave': '5' } },
    spec: { hyperfleetAPI: { url: 'http://hyperfleet-api:8080' } },
    status: {},
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'k' },
    spec: {
      group: 'example.com',
      names: { kind: 'K', plural: 'ks' },
      versions: [{ name: 'v1', schema: { openAPIV3Schema: {} } }],
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 's',
          containers: [
            {
              name: 'c',
              image: 'i',
              args: ['--config=a', '--hyperfleet-api-token-file=t'],
              ports: [{ containerPort: 80 }],
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata,
    spec: {
      replicas: 2,
      template: { metadata: {}, spec: { containers: [] } },
      volumeClaimTemplates: [{ metadata: { name: 'data' } }],
    },
  },
  { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports: [{ port: 443 }] } },
  {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata,
    spec: { selector: { matchLabels: labels }, podMetricsEndpoints: [{ port: 'metrics' }] },
  },
  { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: { selector: { matchLabels: labels } } },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: {
      podSelector: { matchLabels: labels },
      ingress: [{ ports: [{ port: 443 }] }],
      egress: [{ to: [{ podSelector: { matchLabels: labels } }], ports: [{ port: 80 }, { port: 443 }] }],
    },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: [''], resources: ['*'], verbs: ['get'] }],
  } as Manifest,
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata,
    subjects: [
      { kind: 'Group', name: 'system:authenticated' },
      { kind: 'ServiceAccount', name: 's', namespace: 'nowhere' },
    ],
  } as Manifest,
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'w' },
    webhooks: [{ clientConfig: { caBundle: 'x' } }],
  } as Manifest,
]

test.each(Object.entries(ALL_RULES))('a build that breaks it is told so: %s', (_, rule) => {
  expect(rule(broken)).not.toEqual([])
})

test('every problem names the object and says what to write', () => {
  expect(Object.values(ALL_RULES).flatMap((rule) => rule(broken))).toMatchInlineSnapshot(`
    [
      "Namespace/n: it has no namespace",
      "ServiceAccount/a: it must be in hyperfleet-system, not in elsewhere",
      "SentinelConfig/a: it must be in hyperfleet-system, not in elsewhere",
      "Deployment/a: it must be in hyperfleet-system, not in elsewhere",
      "StatefulSet/a: it must be in hyperfleet-system, not in elsewhere",
      "Service/a: it must be in hyperfleet-system, not in elsewhere",
      "PodMonitor/a: it must be in hyperfleet-system, not in elsewhere",
      "PodDisruptionBudget/a: it must be in hyperfleet-system, not in elsewhere",
      "NetworkPolicy/a: it must be in hyperfleet-system, not in elsewhere",
      "Role/a: it must be in hyperfleet-system, not in elsewhere",
      "RoleBinding/a: it must be in hyperfleet-system, not in elsewhere",
      "RoleBinding/a: it refers to the namespace nowhere, and must to hyperfleet-system",
      "Deployment/a: set securityContext.runAsNonRoot",
      "Deployment/a: name a user by number in securityContext.runAsUser",
      "Deployment/a: set seccompProfile.type: RuntimeDefault",
      "Deployment/a: container c: set allowPrivilegeEscalation: false",
      "StatefulSet/a: set securityContext.runAsNonRoot",
      "StatefulSet/a: name a user by number in securityContext.runAsUser",
      "StatefulSet/a: set seccompProfile.type: RuntimeDefault",
      "StatefulSet/a: name its serviceAccountName, or set automountServiceAccountToken: false",
      "Deployment/a: container c: it needs a livenessProbe and a readinessProbe",
      "Deployment/a: container c: it needs requests of cpu and memory, and a limit of memory",
      "Deployment/a: container c: give port 80 a name",
      "Service/a: not every pod of its has the port 443",
      "PodMonitor/a: Deployment/a has no port metrics",
      "SentinelConfig/a: name the HyperFleet API by https://",
      "Deployment/a: say by MUSTER_HYPERFLEET_API_CA by which authorities it knows the HyperFleet API",
      "PodDisruptionBudget/a: Deployment/a has one replica, so no node could be drained",
      "NetworkPolicy/a: no pod of its has the port 443",
      "NetworkPolicy/a: no pod that it lets be called has the port 443",
      "NetworkPolicy/a: Deployment/a does not take calls of Deployment/a at 80",
      "Role/a: name what is meant by "*" in {"apiGroups":[""],"resources":["*"],"verbs":["get"]}",
      "RoleBinding/a: name who is meant instead of the group system:authenticated",
      "ValidatingWebhookConfiguration/w: leave caBundle to the manager",
      "SentinelConfig/a: leave the status to its controller",
      "StatefulSet/a: say apiVersion, kind and volumeMode of its claims",
      "Namespace/n: its wave must be before that of CustomResourceDefinition/k",
      "Namespace/n: its wave must be before that of ServiceAccount/a",
      "CustomResourceDefinition/k: its wave must be before that of ServiceAccount/a",
      "Namespace/n: its wave must be before that of Deployment/a",
      "CustomResourceDefinition/k: its wave must be before that of Deployment/a",
      "ServiceAccount/a: its wave must be before that of Deployment/a",
      "NetworkPolicy/a: its wave must be before that of Deployment/a",
      "Role/a: its wave must be before that of Deployment/a",
      "RoleBinding/a: its wave must be before that of Deployment/a",
      "Namespace/n: its wave must be before that of ValidatingWebhookConfiguration/w",
      "CustomResourceDefinition/k: its wave must be before that of ValidatingWebhookConfiguration/w",
      "ServiceAccount/a: its wave must be before that of ValidatingWebhookConfiguration/w",
      "NetworkPolicy/a: its wave must be before that of ValidatingWebhookConfiguration/w",
      "Role/a: its wave must be before that of ValidatingWebhookConfiguration/w",
      "RoleBinding/a: its wave must be before that of ValidatingWebhookConfiguration/w",
      "SentinelConfig/a: its wave must be before that of ValidatingWebhookConfiguration/w",
      "Deployment/a: its wave must be before that of ValidatingWebhookConfiguration/w",
      "Deployment/a: its wave must be that of SentinelConfig/a",
      "Namespace/n: set argocd.argoproj.io/sync-options: Prune=false,Delete=confirm",
      "Namespace/n: set argocd.argoproj.io/compare-options: IgnoreExtraneous",
      "CustomResourceDefinition/k: set argocd.argoproj.io/sync-options: Prune=false,Delete=confirm",
      "CustomResourceDefinition/k: set argocd.argoproj.io/compare-options: IgnoreExtraneous",
      "ServiceAccount/a: set argocd.argoproj.io/sync-options: Prune=false",
      "ServiceAccount/a: set argocd.argoproj.io/compare-options: IgnoreExtraneous",
      "Deployment/a: container c: i must be named by its digest",
      "StatefulSet/a: it has several replicas, so give it a PodDisruptionBudget",
      "it needs a NetworkPolicy that selects all pods and allows nothing",
      "CustomResourceDefinition/k: v1: give it columns that say how it is, and Age last",
      "CustomResourceDefinition/k: v1: make status a subresource",
      "CustomResourceDefinition/k: put an example into kustomize/samples",
      "CustomResourceDefinition/k: let viewers read ks",
      "CustomResourceDefinition/k: let viewers read ks/status",
      "CustomResourceDefinition/k: let editors write ks",
      "CustomResourceDefinition/k: give Argo CD resource.customizations.health.example.com_K",
    ]
  `)
})
