/** Reads inputs in a process of its own, whose memory is bounded. As its argument the number of a target, as its input their texts by name. */
import { text } from 'node:stream/consumers'
import { TARGETS } from './targets/index.ts'

const target = TARGETS[Number(process.argv[2])]
for (const [name, input] of Object.entries(JSON.parse(await text(process.stdin)) as Record<string, string>)) {
  console.log(name)
  try {
    target?.read(input as never)
  } catch {
    // A refusal, which other tests judge.
  }
}
