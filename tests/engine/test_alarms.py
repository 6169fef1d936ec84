"""An alarm is raised once, keeps its beginning, shows in the metric, and ends."""

from jackpot import metrics
from jackpot.engine.alarms import AlarmCode, Alarms


def gauge(code):
    return metrics.ALARM.labels("main", code)._value.get()


def test_an_alarm_is_listed_once_with_its_first_time_and_its_newest_sentence():
    alarms = Alarms()
    alarms.raise_alarm("main", AlarmCode.FOREIGN_MESSAGE, "one message")
    since = alarms.all()[0].since
    alarms.raise_alarm("main", AlarmCode.FOREIGN_MESSAGE, "two messages")
    assert [(alarm.chain, alarm.code, alarm.says, alarm.since) for alarm in alarms.all()] == [
        ("main", AlarmCode.FOREIGN_MESSAGE, "two messages", since)
    ]
    assert gauge(AlarmCode.FOREIGN_MESSAGE) == 1


def test_an_alarm_that_ends_is_gone_and_its_metric_is_zero():
    alarms = Alarms()
    alarms.raise_alarm("main", AlarmCode.CLOCK_STEPPED, "the clock was set")
    alarms.raise_alarm("site", AlarmCode.CLOCK_STEPPED, "the clock was set")
    alarms.end_alarm("main", AlarmCode.CLOCK_STEPPED)
    alarms.end_alarm("main", AlarmCode.CLOCK_STEPPED)
    assert [alarm.chain for alarm in alarms.all()] == ["site"]
    assert gauge(AlarmCode.CLOCK_STEPPED) == 0
