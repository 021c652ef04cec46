import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LuaFactory } from 'wasmoon'

const SCRIPTS = join(import.meta.dirname, '..', '..', 'apis', 'argocd')

/** What Argo CD does not give to scripts. Its engine is a Lua 5.1, so what came later must not be used either. */
const ABSENT = ['string', 'math', 'utf8', 'coroutine', 'io', 'debug'] as const

/** Runs a script of apis/argocd as Argo CD does: the object is the global `obj`, what it returns comes back as plain data. */
export const runLua = async <Result>(script: string, object: object): Promise<Result> => {
  const engine = await new LuaFactory().createEngine()
  try {
    for (const name of ABSENT) engine.global.set(name, undefined)
    engine.global.set('obj', object)
    return (await engine.doString(readFileSync(join(SCRIPTS, script), 'utf8'))) as Result
  } finally {
    engine.global.close()
  }
}
