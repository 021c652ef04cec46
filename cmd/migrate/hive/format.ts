import { type Judgement, VERDICTS } from './judge.ts'
import { KINDS } from './kinds.ts'

const WORDS: Readonly<Record<Judgement['verdict'], string>> = {
  'as it is': 'applies as it is',
  'with changes': 'applies with these changes',
  later: 'applies later',
  'stays with Hive': 'stays with Hive',
}

/** For people: each object with what is to be said of it, then how many there are of each sort. */
export const formatJudgements = (judgements: readonly Judgement[]): string => {
  const objects = judgements.flatMap(({ kind, namespace, name, verdict, notes }) => [
    `${kind} ${namespace}/${name}: ${WORDS[verdict]}`,
    ...notes.map((note) => `    ${note}`),
  ])
  const counts = KINDS.map((kind) => {
    const own = judgements.filter((each) => each.kind === kind)
    const parts = VERDICTS.flatMap((verdict) => {
      const count = own.filter((each) => each.verdict === verdict).length
      return count === 0 ? [] : [`${count} ${verdict}`]
    })
    return `${kind}: ${parts.length === 0 ? 'none' : parts.join(', ')}`
  })
  return `${[...objects, ...counts, 'Nothing was changed. What to do next: docs/migrate-hive.md'].join('\n')}\n`
}
