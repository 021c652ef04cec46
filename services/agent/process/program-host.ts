/** Where programs of this machine run, and whose account they have. AGENT-42. */
import type { ChildProcess } from 'node:child_process'
import type { Program } from '../workload.ts'
import type { LocalPlacement } from '../workload-runner.ts'

export interface ProgramHost {
  /** Why no program is started here, as a sentence for people; undefined when programs are. */
  readonly problem: string | undefined
  /** The account that programs of the placement have, be it since now; undefined for that of the agent. */
  uidOf(key: string): Promise<number | undefined>
  /** The same for a placement that had programs; undefined also when it had none. */
  knownUidOf(key: string): number | undefined
  /** @throws LaunchError */
  launch(placement: LocalPlacement, program: Program, mark: string): Promise<ChildProcess>
  /** Files by which a person or a program says "not now". */
  holdFilesOf(placement: Pick<LocalPlacement, 'key' | 'folder'>): readonly string[]
  /** What programs of the placement have written into their folder. */
  deleteFolder(key: string): Promise<void>
}
