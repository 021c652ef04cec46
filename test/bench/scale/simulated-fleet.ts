/** What the fleet operator knows, without NATS and Kubernetes. */
import { heartbeatCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { FleetState } from '#controllers/fleet/state/fleet-state.ts'
import { CREATED, deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'
import { upTo } from '../in-parallel.ts'

/** Something that happens, made ready before it is measured. */
export type Happening = () => void

/** Each Deployment is for its share of the devices, by a label. */
export class SimulatedFleet {
  readonly #state = new FleetState()
  readonly #deployments: number
  #revision = 0

  constructor(devices: number, deployments: number) {
    this.#deployments = deployments
    for (const index of upTo(deployments)) this.deploy(index)()
    for (let index = 0; index < devices; index += 1) {
      this.enter(index, '1')()
      this.beat(index)()
      this.report(index, 'Running')()
    }
  }

  deploy(index: number): Happening {
    const view = viewOf(deploymentOf(deploymentName(index), { selector: { matchLabels: { group: `g${index}` } } }))
    return this.#then(() => this.#state.deploymentSeen(view))
  }

  enter(index: number, version: string): Happening {
    const device = deviceOf(deviceName(index), { group: `g${index % this.#deployments}` }, false, { version })
    return this.#then(() => this.#state.deviceSeen(device))
  }

  beat(index: number): Happening {
    const bytes = heartbeatCodec.encode({ boot: 'b', at: CREATED }, 0)
    const update = { key: deviceName(index), bytes, revision: this.#next() }
    return this.#then(() => this.#state.heartbeatSeen(update))
  }

  report(index: number, phase: 'Running' | 'Failed'): Happening {
    const deployment = deploymentName(index % this.#deployments)
    const bytes = stateCodec.encode({ phase, uid: `uid-of-${deployment}`, revision: 1, at: CREATED }, 1)
    const update = { key: `${deviceName(index)}.shop.${deployment}`, bytes, revision: this.#next() }
    return this.#then(() => this.#state.stateSeen(update))
  }

  /** What follows is stored at once. */
  #then(happen: () => void): Happening {
    return () => {
      happen()
      for (const write of this.#state.takeWrites())
        this.#state.desiredSeen({
          key: write.key,
          bytes: write.kind === 'Put' ? write.bytes : undefined,
          revision: this.#next(),
        })
      this.#state.takeDirtyDeployments()
      this.#state.takeDirtyDevices()
    }
  }

  #next(): number {
    this.#revision += 1
    return this.#revision
  }
}

export const deviceName = (index: number): string => `device-${index}`

const deploymentName = (index: number): string => `deployment-${index}`
