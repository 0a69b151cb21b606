"""A monitor that may be looked at every day: bets against the predictions, and alarms that hold at any time."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.monitor.main import Monitor
    from kernelcal.monitor.wealth import Alarm

__all__ = ["Alarm", "Monitor"]
