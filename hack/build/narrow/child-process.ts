/** What commander starts commands with that are programs of their own; ours are all in the program. */
const spawn = (): never => {
  throw new Error('commands that are programs of their own are not in the bundle: give each command an action')
}

export default { spawn }
