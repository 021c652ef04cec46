/** The names of the Secrets that a spec refers to, wherever in it: `pullSecretRef: {name}`, `platform.aws.credentialsSecretRef` and the like. */
export const secretNamesIn = (about: unknown): readonly string[] => {
  if (typeof about !== 'object' || about === null) return []
  const names = Object.entries(about).flatMap(([key, value]: [string, unknown]) => {
    const { name } = (value ?? {}) as { readonly name?: unknown }
    return key.endsWith('SecretRef') && typeof name === 'string' ? [name] : secretNamesIn(value)
  })
  return [...new Set(names)]
}
