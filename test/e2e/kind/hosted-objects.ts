/** What the tests of hosted control planes read of the API server and of kubelets. */

interface ContainerStatus {
  readonly name: string
  readonly restartCount: number
  readonly state: {
    readonly running?: { readonly startedAt: string }
    readonly terminated?: { readonly exitCode: number; readonly finishedAt: string }
  }
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string }
  readonly spec: {
    readonly initContainers: readonly { readonly image: string }[]
    readonly containers: readonly { readonly image: string }[]
  }
  readonly status: {
    readonly podIP: string
    readonly initContainerStatuses: readonly ContainerStatus[]
    readonly containerStatuses: readonly ContainerStatus[]
  }
}

export interface ClusterDeployment {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly status?: {
    readonly powerState?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly message?: string
      readonly lastTransitionTime?: string
    }[]
  }
}

export interface List<T> {
  readonly items: readonly T[]
}

/** What a kubelet says of its node. */
export interface Summary {
  readonly node: { readonly nodeName: string; readonly memory: { readonly workingSetBytes: number } }
  readonly pods: readonly {
    readonly podRef: { readonly name: string }
    readonly memory?: { readonly workingSetBytes?: number }
  }[]
}
