/** What a world of GitOps stands on: Kubernetes, Argo CD, and a way in which the suite comes to life. */
import type { ApplicationStatus } from '../argocd.ts'
import type { ControlPlane } from '../controlplane.ts'
import type { GitRepository } from '../git.ts'
import type { SuiteOptions } from '../suite.ts'

export interface Ground extends AsyncDisposable {
  /** All but faults: those are for the local control plane. */
  readonly cluster: Omit<ControlPlane, 'proxy'>
  /** What Applications call the repository. */
  readonly repoURL: string
  readonly argo: {
    /** Undefined when there is no Application of that name. */
    application(name: string): Promise<ApplicationStatus | undefined>
    /** The folder with argocd, whose command line the same program is, and kustomize. */
    readonly binaries: string
  }
  /** Starts what the environment of this overlay lacks, and commits what has to be said of it. */
  suite(options: Pick<SuiteOptions, 'managers' | 'machines'>): Promise<GroundSuite>
}

/** A suite that goes with its ground. */
export interface GroundSuite {
  /** Of the HyperFleet API, as its managers reach it. */
  readonly apiUrl: string
}

export interface GroundProvider {
  /** Whether the containers of pods run; elsewhere kwok says so of them. */
  readonly containersRun: boolean
  /** Why it can't be had here and what would correct that; undefined when it can. */
  missing(): Promise<string | undefined>
  /** Begins with Kubernetes and Argo CD alone. @param git what Argo CD is to read; it may have no commit yet */
  start(git: GitRepository, settings: GroundSettings): Promise<Ground>
}

export interface GroundSettings {
  /** Seconds between two looks of Argo CD at Git. */
  readonly resync: number
  /** The overlay that Argo CD syncs into the cluster, from the root of the repository, and the Application that does. */
  readonly overlay: string
  readonly application: string
}
