// The generator alone, without Nest and without a store.
import { SnowflakeGenerator, LeaseWindow, layouts, textForms } from 'nestjs-snowflake/core';

const layout = layouts.snowflake();
const window = new LeaseWindow(layout);
window.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
const generator = new SnowflakeGenerator(window);

const ids = [...generator.nextIds(1000), ...Array.from({ length: 1000 }, () => generator.nextId())];
const text = textForms.base62.encode(ids[0]!);

console.log(
  JSON.stringify({
    distinct: new Set(ids).size,
    rises: ids.every((id, at) => at === 0 || id > ids[at - 1]!),
    workerId: layout.parse(ids[0]!).workerId,
    isReadBack: textForms.base62.decode(text) === ids[0],
  }),
);
