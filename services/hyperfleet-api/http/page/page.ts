import { html, type Markup, Markup as Raw } from '#lib/markup/markup.ts'
import type { OpenApi, OperationObject, Parameter, SchemaObject } from '../openapi.ts'
import { STYLE } from './style.ts'

/** The OpenAPI document for people: one page, without scripts and without anything from elsewhere. */
export const documentPage = (document: OpenApi): string => {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({ method: method.toUpperCase(), path, described })),
  )
  const byTag = Map.groupBy(operations, ({ described }) => described.tags[0] ?? '')
  const { title, version, description } = document.info
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${new Raw(STYLE)}</style>
<h1>${title} ${version}</h1>
<p>${description}</p>
<p>For programs: <a href="openapi"><code>openapi</code></a>, the same as OpenAPI ${document.openapi}.</p>
<nav><ul>${[...byTag.keys()].map((tag) => html`<li><a href="#${anchor(tag)}">${tag}</a></li>`)}
<li><a href="#schemas">Schemas</a></li></ul></nav>
${[...byTag].map(
  ([tag, members]) => html`<h2 id="${anchor(tag)}">${tag}</h2>
${members.map((member) => operationSection(member.method, member.path, member.described))}`,
)}
<h2 id="schemas">Schemas</h2>
${Object.entries(document.components.schemas).map(schemaSection)}
</html>
`
  return page.html
}

const anchor = (tag: string): string => `tag-${tag.toLowerCase()}`

const operationSection = (method: string, path: string, described: OperationObject): Markup => html`
<details id="${described.operationId}"><summary><code>${method}</code><code>${path}</code> ${described.summary}</summary>
${
  described.security === undefined
    ? undefined
    : html`<p>Role: ${described.security
        .flatMap((one) => Object.values(one))
        .flat()
        .join(', ')}</p>`
}
${parameterTable(described.parameters ?? [])}
${Object.entries(described.requestBody?.content ?? {}).map(([type, { schema }]) => html`<p>Body, ${type}: ${formatSchemaName(schema)}</p>`)}
<table><tr><th>Answer</th><th></th><th>Body</th></tr>
${Object.entries(described.responses).map(
  ([status, { description, content = {} }]) => html`<tr><td>${status}</td><td>${description}</td>
<td>${Object.entries(content).map(([type, { schema }]) => html`${type}: ${formatSchemaName(schema)}`)}</td></tr>`,
)}</table></details>`

const parameterTable = (parameters: readonly Parameter[]): Markup | undefined =>
  parameters.length === 0
    ? undefined
    : html`<table><tr><th>Parameter</th><th>In</th><th></th></tr>
${parameters.map(
  ({ name, in: place, schema }) =>
    html`<tr><td><code>${name}</code></td><td>${place}</td><td>${schema.description}</td></tr>`,
)}</table>`

/** A link to a named shape, a list of one, or the shape itself. */
const formatSchemaName = (shape: SchemaObject): Markup => {
  if (shape.$ref !== undefined) {
    const name = shape.$ref.split('/').at(-1) ?? ''
    return html`<a href="#schema-${name}">${name}</a>`
  }
  const { items } = shape.properties?.items ?? {}
  return items === undefined ? html`<pre>${formatJson(shape)}</pre>` : html`list of ${formatSchemaName(items)}`
}

const schemaSection = ([name, { examples, ...schema }]: readonly [string, SchemaObject]): Markup => html`
<details id="schema-${name}"><summary><code>${name}</code> ${schema.description}</summary>
${(examples ?? []).map((example) => html`<pre>${formatJson(example)}</pre>`)}
<p>JSON Schema:</p><pre>${formatJson(schema)}</pre></details>`

const formatJson = (value: unknown): string => JSON.stringify(value, null, 2)
