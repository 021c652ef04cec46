import type { Kubectl } from './kubectl.ts'

/** A Kubernetes cluster that can be worked with, wherever it came from. */
export interface Cluster {
  /** Path of a kubeconfig file that reaches it. */
  readonly kubeconfig: string
  /** The context in that file. */
  readonly context: string
  readonly kubectl: Kubectl
  /**
   * A folder of this machine with its kube-apiserver, kube-controller-manager, etcd and kubectl, by which further control planes can
   * run beside it; undefined when they can't be had, or don't run here. It goes with `stop`.
   */
  readonly programs?: () => Promise<string | undefined>
  /** True when it goes with `stop`; false when it was there before and stays. */
  readonly ours: boolean
  /** Stops and removes what `start` started, and nothing else. */
  readonly stop: () => Promise<void>
}

/** What the person asked for on the command line. */
export interface ClusterRequest {
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
}

/** For one start: where progress goes, and when to give up. */
export interface Start {
  readonly request: ClusterRequest
  readonly say: (line: string) => void
  readonly signal?: AbortSignal | undefined
}

/** One way to come to a cluster. All of them pass test/conformance/cluster.test.ts. */
export interface ClusterProvider {
  /** For people, e.g. 'kind in Docker'. */
  readonly title: string
  /** Why it can't serve here and what would correct that; undefined when it can. It starts nothing. */
  unavailable(request: ClusterRequest): Promise<string | undefined>
  /** A cluster that answers. An abort rejects, and leaves nothing behind. */
  start(start: Start): Promise<Cluster>
}
