/** The agent as a service of systemd. AGENT-30. Pure. */

/** An argument as it is, or a flag whose value is the path of a secret of the service. */
export type Argument = string | { readonly flag: string; readonly secret: string }

export interface AgentUnit {
  readonly device: string
  /** How this program is started: its first word is an absolute path. */
  readonly program: readonly string[]
  /** Of `muster agent`. */
  readonly args: readonly Argument[]
  /** The account that the agent runs as. */
  readonly user: string
  /** All rights of root that the service has; undefined for those that its account has. */
  readonly capabilities: readonly string[] | undefined
  /** Files that only root can read, and that the service gets: their paths by the names that `args` have. */
  readonly secrets: Readonly<Record<string, string>>
}

export const UNIT_NAME = 'muster-agent.service'

/** The text of the unit file, for systemd 250 and newer. */
export const systemdUnit = ({ device, program, args, user, capabilities, secrets }: AgentUnit): string =>
  [
    '# Made by muster agent enroll: run that again to change it, or "systemctl edit muster-agent" to add to it.',
    '[Unit]',
    `Description=Muster agent of the device ${device}`,
    'Wants=network-online.target',
    'After=network-online.target',
    '# However long NATS does not let the device in.',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    `User=${user}`,
    ...(capabilities === undefined ? [] : confinement(user, capabilities)),
    `ExecStart=${[...program, 'agent', ...args].map(formatArgument).join(' ')}`,
    ...Object.entries(secrets).map(([name, path]) => `LoadCredential=${name}:${escapeSpecifiers(path)}`),
    'StateDirectory=muster-agent',
    'StateDirectoryMode=0700',
    '# Programs outlive the agent, and the next one takes them over: they are not stopped with it.',
    'KillMode=process',
    'Restart=always',
    'RestartSec=5',
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n')

/** So that the agent can give programs accounts of their own, and do nothing else that only root can. AGENT-44. */
const confinement = (user: string, capabilities: readonly string[]): readonly string[] => [
  `CapabilityBoundingSet=${capabilities.join(' ')}`,
  ...(user === 'root' ? [] : [`AmbientCapabilities=${capabilities.join(' ')}`]),
  'NoNewPrivileges=yes',
]

const formatArgument = (argument: Argument): string =>
  typeof argument === 'string' ? quote(argument) : `${argument.flag}=%d/${argument.secret}`

/** One word of a command line, as systemd reads it: systemd.service, "Command lines". */
const quote = (word: string): string => {
  const text = escapeSpecifiers(word).replaceAll('$', '$$$$')
  return /^[-\w./:=,@%+$]+$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

const escapeSpecifiers = (text: string): string => text.replaceAll('%', '%%')
