import { onPath } from '../cluster/programs.ts'

/** The full path of a redis-server on this machine, or undefined. */
export const findRedis = (): string | undefined => onPath('redis-server')
