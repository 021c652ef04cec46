/** What each required adapter said last of a resource is under a condition of this type: `pull-secret` → `PullSecretSuccessful`. */
export const adapterConditionType = (adapter: string): string =>
  `${adapter
    .split('-')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')}Successful`
