/** The first page: what needs a person, and below it how everything does. */
import { html } from '#lib/markup/markup.ts'
import { compareFindings, type Finding, SEVERITIES, type Severity } from '../findings/finding.ts'
import { findAll } from '../findings/findings.ts'
import { page } from '../page.ts'
import { age } from '../parts/age.ts'
import { bar } from '../parts/chart.ts'
import { filter, type Listing, matching, paged, pager } from '../parts/listing.ts'
import { command, rowId } from '../parts/table.ts'
import { number, state, type Tone } from '../parts/tone.ts'
import { type Glance, glances } from './glance.ts'

interface Attention {
  /** Of all, whatever is filtered. */
  readonly counts: Readonly<Record<Severity, number>>
  readonly findings: Listing<Finding>
  readonly glances: readonly Glance[]
}

const WORDS: Readonly<Record<Severity, readonly [Tone, string, string]>> = {
  Act: ['bad', 'Act', 'stays so until a person does something'],
  Look: ['warn', 'Look', 'is wrong, and may recover by itself'],
  Wait: ['busy', 'Wait', 'takes its time'],
}

export const attention = page<Attention>({
  path: '/',
  menu: '/',

  view({ sources, query, now }) {
    const all = findAll(sources, now)
    const fits = matching(query)
    const selected = query.get('state')
    const shown = all.filter(
      ({ kind, subject, reason, message, severity }) =>
        (selected === null || severity === selected) && fits(`${kind} ${subject} ${reason} ${message}`),
    )
    const count = (severity: Severity) => all.filter((finding) => finding.severity === severity).length
    return {
      counts: { Act: count('Act'), Look: count('Look'), Wait: count('Wait') },
      findings: paged(shown.toSorted(compareFindings), query),
      glances: glances(sources),
    }
  },

  title: ({ counts }) => (counts.Act === 0 ? 'Attention' : `(${counts.Act}) Attention`),

  sections({ counts, findings, glances: shown }, { query, now }) {
    const total = counts.Act + counts.Look + counts.Wait
    const item = ({ severity, kind, subject, path, reason, message, since, kubectl }: Finding) => {
      const [tone, word, meaning] = WORDS[severity]
      return html`<li class="finding ${tone}" id="${rowId(`${kind}/${subject}/${reason}`)}">
<p class="finding-head"><span title="${meaning}">${state(tone, word)}</span> <span class="kind">${kind}</span>
${path === undefined ? html`<span class="subject">${subject}</span>` : html`<a class="subject" href="${path}">${subject}</a>`}
<span class="reason">${reason}</span> <span class="when">${age(since, now)}</span></p>
<p class="finding-message">${message}</p>
${command(kubectl)}</li>`
    }
    const summary =
      total === 0
        ? html`<p class="calm">Nothing needs you.</p>`
        : html`${filter({
            path: '/',
            query,
            hint: 'kind, name or reason',
            choices: SEVERITIES.map((value) => ({ value, word: WORDS[value][1], count: counts[value] })),
          })}
${findings.total === 0 ? html`<p class="empty">None of the ${number(total)} is like that.</p>` : html`<ol class="findings">${findings.rows.map(item)}</ol>`}
${findings.pages > 1 ? pager('/', query, findings) : undefined}`
    return [
      { id: 'findings', body: summary },
      {
        id: 'glance',
        heading: 'At a glance',
        body: html`<ul class="glances">${shown.map(
          ({ path, name, figure, of, parts }) => html`<li><a href="${path}"><span class="name">${name}</span>
<span class="figure">${figure}</span> <span class="of">${of}</span></a>${bar(parts)}</li>`,
        )}</ul>`,
      },
    ]
  },
})
