import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'

/** As testcontainers names an engine of this machine. */
const THIS_MACHINE = ['localhost', '127.0.0.1']

/** A container whose ports are reached from this machine alone, when its engine is here: by default an engine publishes them on every address. */
export class LocalContainer extends GenericContainer {
  override async start(): Promise<StartedTestContainer> {
    const { info } = await getContainerRuntimeClient()
    if (THIS_MACHINE.includes(info.containerRuntime.host))
      for (const bindings of Object.values(this.hostConfig.PortBindings ?? {}))
        for (const binding of bindings as { HostIp?: string }[]) binding.HostIp = '127.0.0.1'
    return super.start()
  }
}
