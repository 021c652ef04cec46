import { publicText } from './rewrite.ts'

const LIBRARY_TYPES: Readonly<Record<string, string>> = {
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
}

/** Type names and signatures as the library writes them. */
export const toLibrary = (text: string): string =>
  text.replaceAll(/(?<![\w.])(timestamp|duration)(?=\s*(?:[,>)]|$|\.\w+\())/g, (name) => LIBRARY_TYPES[name] ?? name)
/** Type names and signatures as CEL writes them. */
export const toPublic = (text: string): string =>
  publicText(text)
    .replaceAll('google.protobuf.Timestamp', 'timestamp')
    .replaceAll('google.protobuf.Duration', 'duration')
