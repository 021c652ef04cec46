import { join } from 'node:path'
import type { Plugin } from 'esbuild'

interface Narrowing {
  /** The modules as they are imported. */
  readonly specifiers: readonly string[]
  /** Only when imported from a file whose path has this in it; anywhere when undefined. */
  readonly importer?: string
  /** But not from files whose path has one of these in it. */
  readonly except?: readonly string[]
  /** File under narrow/ that stands in. */
  readonly instead: string
}

const HOST = '/@dot-i/k8s-operator/dist/operator.js'
const KUBECONFIG = '/@kubernetes/client-node/dist/config.js'

/** Modules of which the product uses a corner, and the module of ours that holds this corner. Why: docs/decisions/bundle.md. */
const NARROWINGS: readonly Narrowing[] = [
  {
    specifiers: ['typebox'],
    importer: join(import.meta.dirname, '../../apis/'),
    // The adapter checks task files with the schema while it runs; a process without adapters loads none of these.
    except: ['/v1alpha1/task/'],
    instead: 'typebox.ts',
  },
  { specifiers: ['prom-client'], instead: 'prom-client.mjs' },
  {
    specifiers: ['perf_hooks'],
    importer: '/prom-client/lib/metrics/eventLoopLag.js',
    instead: 'no-event-loop-sampler.cjs',
  },
  { specifiers: ['thread-stream'], importer: '/pino/lib/transport.js', instead: 'thread-stream.ts' },
  { specifiers: ['node:http2'], importer: '/fastify/lib/server.js', instead: 'fastify-http2.ts' },
  {
    specifiers: ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
    importer: '/fastify/lib/schema-controller.js',
    instead: 'fastify-compilers.cjs',
  },
  { specifiers: ['semver', 'light-my-request'], importer: '/fastify/', instead: 'fastify-unused.cjs' },
  { specifiers: ['node:child_process'], importer: '/commander/lib/command.js', instead: 'child-process.ts' },
  {
    specifiers: ['node:child_process'],
    importer: '/@kubernetes/client-node/dist/exec_auth.js',
    instead: 'spawn-late.ts',
  },
  { specifiers: ['worker_threads'], importer: '/pino/lib/tools.js', instead: 'main-thread.cjs' },
  { specifiers: ['assert'], importer: '/sonic-boom/', instead: 'assert.cjs' },
  { specifiers: ['@kubernetes/client-node'], importer: HOST, instead: 'client-node.ts' },
  { specifiers: ['gaxios'], importer: HOST, instead: 'gaxios.ts' },
  { specifiers: ['./gen/index.js'], importer: KUBECONFIG, instead: 'client-node-generated.ts' },
  { specifiers: ['socks-proxy-agent', 'socks', 'hpagent', 'undici'], importer: KUBECONFIG, instead: 'proxy-agents.ts' },
  {
    specifiers: ['./azure_auth.js', './gcp_auth.js', './oidc_auth.js'],
    importer: KUBECONFIG,
    instead: 'auth-providers.ts',
  },
]

const SPECIFIERS = NARROWINGS.flatMap(({ specifiers }) => specifiers)

/**
 * esbuild plugin that puts the narrow modules in place of the wide ones. An import of a name that the narrow one lacks fails the
 * build, so nothing is lost in silence.
 */
export const narrow: Plugin = {
  name: 'narrow',
  setup(build) {
    const filter = new RegExp(`^(${SPECIFIERS.map((specifier) => RegExp.escape(specifier)).join('|')})$`)
    build.onResolve({ filter }, (request) => {
      const narrowing = NARROWINGS.find(
        ({ specifiers, importer = '', except = [] }) =>
          specifiers.includes(request.path) &&
          request.importer.includes(importer) &&
          !except.some((part) => request.importer.includes(part)),
      )
      return narrowing && { path: join(import.meta.dirname, 'narrow', narrowing.instead) }
    })
  },
}
