import type { Languages } from '../task/compile/compiler.ts'
import { compileTemplate, taskExpressions } from './index.ts'

/** What the texts of tasks mean. @param now the time that their functions go by */
export const taskLanguages = (now: () => Date): Languages => ({
  expressions: (names) => taskExpressions(names, now),
  templates: {
    compile: (text) => {
      const { names, render } = compileTemplate(text, { now })
      return { variables: [...names], render }
    },
  },
})
